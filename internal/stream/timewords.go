package stream

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func unitOf(name string) time.Duration {
	for unit, names := range map[time.Duration][]string{
		time.Millisecond:   {"ms", "millisecond", "milliseconds"},
		time.Second:        {"s", "sec", "secs", "second", "seconds"},
		time.Minute:        {"m", "min", "mins", "minute", "minutes"},
		time.Hour:          {"h", "hr", "hrs", "hour", "hours"},
		24 * time.Hour:     {"d", "day", "days"},
		7 * 24 * time.Hour: {"w", "week", "weeks"},
	} {
		if slices.Contains(names, name) {
			return unit
		}
	}
	return 0
}

// unixTime reads seconds or milliseconds since 1970.
func unixTime(digits string) time.Time {
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err == nil && len(digits) == 10:
		return time.Unix(n, 0).UTC()
	case err == nil && len(digits) == 13:
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

// zoneOf finds a zone by its name. Abbreviations are few, since most stand for
// several zones.
func zoneOf(name string) (*time.Location, bool) {
	hours, known := map[string]int{
		"UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "BST": 1, "CET": 1, "WEST": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9,
		"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	}[strings.ToUpper(name)]
	switch {
	case known && hours == 0:
		return time.UTC, true
	case known:
		return time.FixedZone(strings.ToUpper(name), hours*3600), true
	case !strings.Contains(name, "/"):
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

func monthOf(word string) time.Month {
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if word == name || word == name[:3] || word == "sept" && m == time.September {
			return m
		}
	}
	return 0
}

func weekdayOf(word string) int {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		if len(word) >= 3 && strings.HasPrefix(name, word) {
			return int(d) + 1
		}
	}
	return 0
}
