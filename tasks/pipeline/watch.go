package pipeline

import (
	"context"
	"time"

	"github.com/ralph-loop/ralph/progress"
)

// A Watch looks at a [progress.Dir] again and again, for those who show it as it
// changes: it is a [progress.Watch] that also tells how the tasks of pipelines stand. The
// record of a pipeline is read again only when something came to it. Use one Watch from
// one goroutine at a time. The zero value needs the Dir of its progress.Watch.
type Watch struct {
	progress.Watch

	told map[string]noted // by the pipeline's name
}

// A noted is what a record has told, and what shows that it has changed since.
type noted struct {
	started, active time.Time
	told
}

// Standings returns what the function of that name does, without Left, see
// [progress.Watch.Standings]. The summaries are shared with later looks and must not be
// changed.
func (w *Watch) Standings(ctx context.Context) ([]Standing, error) {
	found, err := w.Watch.Standings(ctx)
	all, now := make([]Standing, len(found)), map[string]noted{}
	for i, st := range found {
		if !ofPipeline(st) {
			all[i] = Standing{Standing: st}
			continue
		}
		last, ok := w.told[st.Loop]
		// Why a record could not be read may pass without a sign in it.
		if !ok || last.tasks == nil || !last.started.Equal(st.Started) || !last.active.Equal(st.Active) {
			last = noted{st.Started, st.Active, tell(ctx, w.Dir, st.Loop)}
		}
		now[st.Loop], all[i] = last, last.stood(st)
	}
	w.told = now
	return all, err
}
