package temporal_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/dev"
)

var update = flag.Bool("update", false, "record the histories in testdata/history anew")

// A decision is what a workflow has asked for: what, and with which data.
type decision struct {
	what string
	data any // as JSON has it
}

// asJSON is a value as it is in a history.
func asJSON(v any) (got any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		return err.Error()
	}
	return got
}

func payload(p *commonpb.Payloads) any {
	var text json.RawMessage
	if err := converter.GetDefaultDataConverter().FromPayloads(p, &text); err != nil {
		return err.Error()
	}
	return asJSON(text)
}

// onRecord are the decisions of a history.
func onRecord(h *historypb.History) (made []decision) {
	for _, ev := range h.Events {
		switch ev.EventType {
		case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			made = append(made, decision{"activity", payload(ev.GetActivityTaskScheduledEventAttributes().Input)})
		case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			made = append(made, decision{"child", payload(ev.GetStartChildWorkflowExecutionInitiatedEventAttributes().Input)})
		case enums.EVENT_TYPE_TIMER_STARTED:
			made = append(made, decision{"timer", ev.GetTimerStartedEventAttributes().StartToFireTimeout.AsDuration()})
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
			made = append(made, decision{"anew", payload(ev.GetWorkflowExecutionContinuedAsNewEventAttributes().Input)})
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
			made = append(made, decision{"result", payload(ev.GetWorkflowExecutionCompletedEventAttributes().Result)})
		}
	}
	return made
}

// A replay listens to what a workflow decides.
type replay struct {
	interceptor.WorkerInterceptorBase
	made []decision
}

type (
	replayIn struct {
		interceptor.WorkflowInboundInterceptorBase
		*replay
	}
	replayOut struct {
		interceptor.WorkflowOutboundInterceptorBase
		*replay
	}
)

func (r *replay) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &replayIn{interceptor.WorkflowInboundInterceptorBase{Next: next}, r}
}

func (r *replayIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return r.Next.Init(&replayOut{interceptor.WorkflowOutboundInterceptorBase{Next: out}, r.replay})
}

func (r *replayIn) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	v, err := r.Next.ExecuteWorkflow(ctx, in)
	if err == nil {
		r.made = append(r.made, decision{"result", asJSON(v)})
	}
	return v, err
}

func (r *replayOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	r.made = append(r.made, decision{"activity", asJSON(args[0])})
	return r.Next.ExecuteActivity(ctx, name, args...)
}

func (r *replayOut) ExecuteChildWorkflow(ctx workflow.Context, kind string, args ...any) workflow.ChildWorkflowFuture {
	r.made = append(r.made, decision{"child", asJSON(args[0])})
	return r.Next.ExecuteChildWorkflow(ctx, kind, args...)
}

func (r *replayOut) AwaitWithTimeout(ctx workflow.Context, d time.Duration, is func() bool) (bool, error) {
	r.made = append(r.made, decision{"timer", d})
	return r.Next.AwaitWithTimeout(ctx, d, is)
}

func (r *replayOut) NewContinueAsNewError(ctx workflow.Context, w any, args ...any) error {
	r.made = append(r.made, decision{"anew", asJSON(args[0])})
	return r.Next.NewContinueAsNewError(ctx, w, args...)
}

// workflows registers the workflows of a worker, and nothing else.
type workflows struct {
	worker.Registry
	replayer worker.WorkflowReplayer
}

func (w workflows) RegisterActivityWithOptions(any, activity.RegisterOptions) {}
func (w workflows) RegisterWorkflowWithOptions(f any, options workflow.RegisterOptions) {
	w.replayer.RegisterWorkflowWithOptions(f, options)
}

// replays returns how a workflow goes on a history otherwise than it went: in what it
// asks for, and also in the data, of which Temporal says nothing. "" = not at all.
func replays(h *historypb.History) (string, error) {
	r := &replay{}
	p, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: []interceptor.WorkerInterceptor{r}})
	if err != nil {
		return "", err
	}
	if err := temporal.Register(workflows{replayer: p}, &ralph.Local{}); err != nil {
		return "", err
	}
	name := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
	failed := p.ReplayWorkflowHistoryWithOptions(dev.Quiet(), h, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: name}})
	want := onRecord(h)
	for i := range max(len(want), len(r.made)) {
		switch {
		case i >= len(r.made):
			return fmt.Sprintf("decision %d, %s, is not made any more", i+1, want[i].what), failed
		case i >= len(want):
			if len(h.Events) > 0 && ended(h) {
				return fmt.Sprintf("decision %d, %s, is new", i+1, r.made[i].what), failed
			}
		case !reflect.DeepEqual(want[i], r.made[i]):
			return fmt.Sprintf("decision %d was %s\n%s\nand is %s\n%s", i+1, want[i].what, show(want[i].data), r.made[i].what, show(r.made[i].data)), failed
		}
	}
	return "", failed
}

// ended reports whether a history has come to its end; one of a loop that runs may be
// followed by more.
func ended(h *historypb.History) bool {
	return h.Events[len(h.Events)-1].EventType != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
}

func show(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// recorded looks at the history of a loop that has ended: it must go the same way again,
// and is kept with -update.
func (r *running) recorded(run string, keep string) *historypb.History {
	r.Helper()
	h := &historypb.History{}
	for it := r.loop.Client.GetWorkflowHistory(within(r.T), r.name, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		ev, err := it.Next()
		if err != nil {
			r.Fatal(err)
		}
		h.Events = append(h.Events, ev)
	}
	// Before it is replayed, which writes into it.
	if *update && keep != "" {
		text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		if err != nil {
			r.Fatal(err)
		}
		write(r.T, filepath.Join("testdata", "history", keep+".json"), r.nameless(string(text)))
	}
	if diff, err := replays(h); err != nil || diff != "" {
		r.Errorf("replayed, it does not go as it went (%v): %s", err, diff)
	}
	return h
}

var (
	temporary = regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `[^"\\]*`)
	process   = regexp.MustCompile(`\d+@[^"\\]*`)
)

// nameless is a history without what is so on this machine alone.
func (p *park) nameless(text string) string {
	text = process.ReplaceAllString(temporary.ReplaceAllString(text, "/workspace"), "worker")
	if host, err := os.Hostname(); err == nil {
		text = strings.ReplaceAll(text, host, "machine")
	}
	var short bytes.Buffer
	if err := json.Indent(&short, []byte(text), "", " "); err != nil {
		p.Fatal(err)
	}
	return short.String() + "\n"
}

// TestReplay: loops that began with an earlier version go on as they would have: what has
// been recorded once is decided again. A test that fails says that a rule of State.Next
// has changed for loops in flight. Record a history anew only if that is meant.
func TestReplay(t *testing.T) {
	names, err := filepath.Glob("testdata/history/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff, err := replays(h); err != nil || diff != "" {
				t.Errorf("it goes on otherwise (%v): %s", err, diff)
			}
		})
	}
}
