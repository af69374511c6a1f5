package stream

import (
	"testing"
	"time"
)

func TestResetTime(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	const now = "2026-11-22T14:00:30+01:00"                   // a Sunday
	for _, tt := range []struct{ message, now, want string }{ // want "" = nothing is said
		// How long.
		{"Try again in 3 hours 5 minutes.", now, "2026-11-22T16:05:30Z"},
		{"try again in 20s", now, "2026-11-22T13:00:50Z"},
		{"please try again in 1.5s", now, "2026-11-22T13:00:31.5Z"},
		{"Your quota will reset after 3h20m5s.", now, "2026-11-22T16:20:35Z"},
		{"Limit 30000, Used 29000, Requested 2000. Please try again in 6m0.5s. Visit", now, "2026-11-22T13:06:30.5Z"},
		{"retry after 2 days, 1 hour and 1 minute", now, "2026-11-24T14:01:30Z"},
		{"Please wait 2 minutes before trying again", now, "2026-11-22T13:02:30Z"},
		{"Please retry after 2733 seconds. (user_global_rate_limited:pro)", now, "2026-11-22T13:46:03Z"},
		{`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.0748s"}`, now, "2026-11-22T13:01:04.0748Z"},
		{"retry-after: 361", now, "2026-11-22T13:06:31Z"},
		{"retry-after-ms: 1500", now, "2026-11-22T13:00:31.5Z"},
		{`"resets_in_seconds":11100}`, now, "2026-11-22T16:05:30Z"},
		{"rate limited, try again in 51 hours", now, "2026-11-24T16:00:30Z"},
		{"try again in 900 days", now, "2026-11-29T13:00:30Z"},
		{"weekly limit: try again in 900 days", now, "2026-11-30T13:00:30Z"},
		{"try again in 99999999999999999999999999 hours", now, "2026-11-29T13:00:30Z"},
		// When, by the clock.
		{"You've hit your limit · resets 7pm (America/New_York)", now, "2026-11-22T19:00:00-05:00"},
		{"You've hit your session limit · resets 3:20am (Asia/Calcutta)", now, "2026-11-23T03:20:00+05:30"},
		{"resets 2pm (Europe/London)", now, "2026-11-22T14:00:00Z"},
		{"resets 7pm (US/Nowhere)", now, ""},
		{"resets 7pm EST", now, "2026-11-22T19:00:00-05:00"},
		{"resets at 19:00 UTC", now, "2026-11-22T19:00:00Z"},
		{"resets 19:00", now, "2026-11-22T19:00:00+01:00"},
		{"or try again at 4:06 PM.", now, "2026-11-22T16:06:00+01:00"},
		{"or try again at 4:06\u202fPM.", now, "2026-11-22T16:06:00+01:00"},
		{"Limits will reset at 9:30 a.m.  View your usage", now, "2026-11-23T09:30:00+01:00"},
		{"resets 12am", now, "2026-11-23T00:00:00+01:00"},
		{"resets 12:15pm", now, "2026-11-23T12:15:00+01:00"},
		{"resets 1:59pm", now, ""}, // just now: not a day away
		{"resets 1:50pm", now, "2026-11-23T13:50:00+01:00"},
		{"resets 2pm", now, ""},
		{"resets 25:00", now, ""},
		{"resets 13pm", now, ""},
		{"resets 7:5pm", now, ""},
		// By the date.
		{"resets Nov 25, 3pm", now, "2026-11-25T15:00:00+01:00"},
		{"resets Nov 27, 7:12am (UTC)", now, "2026-11-27T07:12:00Z"},
		{"try again at Nov 25th, 2026 3:05 PM.", now, "2026-11-25T15:05:00+01:00"},
		{"wait for your limit to reset on November 24, 2026 at 2:00 AM or switch", now, "2026-11-24T02:00:00+01:00"},
		{"resets 25 Nov 15:00 (UTC)", now, "2026-11-25T15:00:00Z"},
		{"resets Jan 2, 9am", "2026-12-30T10:00:00+01:00", "2027-01-02T09:00:00+01:00"},
		{"resets Dec 31, 9am", "2027-01-01T10:00:00+01:00", ""},
		{"resets Nov 20, 3pm", now, ""},
		{"resets Nov 25, 2025, 3pm", now, ""},
		{"resets Feb 30, 3pm", now, ""},
		{"resets Dec 24, 3pm", now, "2026-11-29T14:00:30+01:00"}, // a bound, not a month
		{"resets Monday 9am", now, "2026-11-23T09:00:00+01:00"},
		{"resets Sun 9:00 AM (UTC)", now, "2026-11-29T09:00:00Z"},
		{"resets Sat, 3pm", now, "2026-11-28T15:00:00+01:00"},
		// As machines write it.
		{"resets at 2026-11-22T23:20:05Z", now, "2026-11-22T23:20:05Z"},
		{`"quotaResetTimeStamp":"2026-11-22T23:20:05+02:00"`, now, "2026-11-22T21:20:05Z"},
		{"try again after 2026-11-22 23:20:05 UTC", now, "2026-11-22T23:20:05Z"},
		{"retry-after: Sun, 22 Nov 2026 23:15:00 GMT", now, "2026-11-22T23:15:00Z"},
		{`"resets_at":1795363562,`, now, "2026-11-22T16:06:02Z"},
		{`{"resetsAt":1795363562}`, now, "2026-11-22T16:06:02Z"},
		{`"retry_after":1795363562}`, now, "2026-11-22T16:06:02Z"},
		{"usage limit reached|1795363562", now, "2026-11-22T16:06:02Z"},
		{"usage limit reached|1767225600", now, ""},
		{"retry-after: Sun, 22 Nov 2020 23:15:00 GMT", now, ""},
		// Days when the clocks change.
		{"resets 3am", "2027-03-27T20:00:00+01:00", "2027-03-28T03:00:00+02:00"},
		{"resets 2:30am", "2027-03-27T20:00:00+01:00", "2027-03-28T03:30:00+02:00"},
		{"resets 7pm", "2026-10-24T20:00:00+02:00", "2026-10-25T19:00:00+01:00"},
		// Nothing.
		{"try again later", now, ""},
		{"Please wait and try again later. To increase your limits, request a quota increase", now, ""},
		{"Your quota will reset after 0s.", now, ""},
		{"exceeded retry limit 3, last status: 429", now, ""},
		{"Reconnecting... retry 2/5", now, ""},
		{"resets", now, ""},
		{"", now, ""},
		{"|", now, ""},
	} {
		at, err := time.Parse(time.RFC3339, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if reset := ResetTime(tt.message, at.In(berlin), berlin); !reset.IsZero() {
			got = reset.Format(time.RFC3339Nano)
		}
		if got != tt.want {
			t.Errorf("%s, at %s: %q, want %q", tt.message, tt.now, got, tt.want)
		}
	}
}

// FuzzResetTime checks that whatever a message says, it is no time that has passed
// nor one far away.
func FuzzResetTime(f *testing.F) {
	for _, seed := range []string{"try again in 3h20m5s", "resets 7pm (America/New_York)", "try again at Nov 25th, 2026 3:05 PM", "retry-after: Sun, 22 Nov 2026 23:15:00 GMT",
		"resets_at:1795363562", "reset after 99999999999999999999h1e999s", "resets Mon 25:61", "resets (", "wait|1795363562", "reset\xff 7pm (\xffEurope/Berlin"} {
		f.Add(seed, int64(1795353562))
	}
	f.Fuzz(func(t *testing.T, message string, unix int64) {
		now := time.Unix(unix%(1<<36), 0).UTC()
		at := ResetTime(message, now, time.FixedZone("X", 3600))
		if !at.IsZero() && (!at.After(now) || at.Sub(now) > maxWeekly) {
			t.Fatalf("%q at %v: %v", message, now, at)
		}
		Reason(message)
		KindOf(message)
	})
}
