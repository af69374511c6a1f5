package main

import (
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/progress"
)

// begun gives a run that goes on the flags that it began with, but for those that are
// given now: these are agreed anew. Of definitions nothing is taken over, for their
// loops go on only as they were agreed.
func (w *work) begun(last progress.Entry) {
	if last.Meta["file"] != absolute(w.file) || w.stated {
		return
	}
	// The list was none that is refused, and boxes that the agent has added do not make it
	// one.
	w.onlyIDs = last.Meta["all-boxes"] == "" && !w.given["all-boxes"]
	clean := last.Meta["args"] != "" // else there was a secret in them, which is not on record
	var taken []string
	for _, flag := range []struct {
		name string
		to   any
	}{
		{"all-boxes", &w.allBoxes}, {"criteria", &w.criteriaToo}, {"optional", &w.optionalToo}, {"tag", &w.tag}, {"spec", &w.spec},
		{"verify", &w.verify}, {"exam", &w.exam}, {"guard", &w.guard}, {"judge", &w.judge}, {"judge-model", &w.judgeModel}, {"accept-config", &w.acceptConfig},
	} {
		value, there := last.Meta[flag.name]
		if !there || w.given[flag.name] {
			continue
		}
		shown := "--" + flag.name
		switch to := flag.to.(type) {
		case *bool:
			if *to = value == "true"; !*to {
				shown += "=false"
			}
		case *string:
			if !clean && flag.name != "tag" {
				continue
			}
			if *to = value; flag.name == "exam" && !filepath.IsAbs(value) && last.Meta["cwd"] != absolute(".") {
				*to = filepath.Join(last.Meta["cwd"], value)
			}
			shown += " " + word(value)
		case *list:
			if !clean {
				continue
			}
			*to = strings.Split(value, listed)
			shown += " " + word(strings.Join(*to, ", "))
		}
		w.given[flag.name] = true
		if flag.name != "tag" { // which is told anyway, and need not have been given
			taken = append(taken, shown)
		}
	}
	if taken != nil {
		w.say("as when '%s' began: %s", w.name(), line(strings.Join(taken, " ")))
	}
}

// listed stands between the values of a flag on record that was given several times.
const listed = "\n"
