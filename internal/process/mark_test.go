package process

import (
	"strconv"
	"testing"
)

// TestParseMark takes what NewMark makes, and nothing else.
func TestParseMark(t *testing.T) {
	t.Parallel()
	for range 100 {
		text := NewMark()
		if m, err := parseMark(text); err != nil || m.String() != text || text == NewMark() {
			t.Errorf("%s: %v", text, err)
		}
	}
	const id = "ABCDEFGHIJKLMN27"
	for text, ok := range map[string]bool{
		id: true, id + "-7000000000999999999": true, id + "-7999999999999999999": true, id + "-7123456789123450001": true,
		"": false, "-": false, id[1:]: false, id + "A": false, "abcdefghijklmn27": false, "ABCDEFGHIJKLMN01": false, "ABCDEFGHIJKLMN=1": false,
		id + "-": false, id + "-0": false, id + "-819200": false, id + "-6999999999999999999": false, id + "-8000000000000000000": false,
		id + "-+7000000000999999999": false, id + "-07000000000999999999": false, id + "-18446744073709551615": false, id + "--1": false,
		id + "-7000000000999999999\n": false, " " + id: false, id + " 1 7": false, id + "-7000000000999999999-7": false,
	} {
		if ValidMark(text) != ok {
			t.Errorf("%q: %v", text, !ok)
		}
	}
}

// TestAllot: limits only sink, runs of one program differ, and each run holds what
// is inside it, and only that.
func TestAllot(t *testing.T) {
	t.Parallel()
	const unlimited = 1<<64 - 1
	type run struct {
		mark
		within []run
	}
	deep := func(own, n uint64) mark { return mark{limit: allot(own, n)} }
	var runs []run
	for n := range uint64(3) {
		outermost := run{mark: deep(unlimited, n*999_999_999)}
		for k := range uint64(3) {
			middle := run{mark: deep(outermost.limit, k*99_997+n)}
			for j := range uint64(3) {
				middle.within = append(middle.within, run{mark: deep(middle.limit, j*9_997+n)})
			}
			outermost.within = append(outermost.within, middle)
		}
		runs = append(runs, outermost)
	}
	var flat func(list []run, above []mark)
	all := map[uint64][]mark{} // a limit, and all that must hold it
	flat = func(list []run, above []mark) {
		for _, r := range list {
			holders := append(above[:len(above):len(above)], r.mark)
			if _, twice := all[r.limit]; twice || len(strconv.FormatUint(r.limit, 10)) != 19 {
				t.Errorf("%d, twice: %v", r.limit, twice)
			}
			for _, m := range above {
				if r.limit >= m.limit || !r.fits(m.limit) || m.fits(r.limit) {
					t.Errorf("%d inside %d", r.limit, m.limit)
				}
			}
			all[r.limit] = holders
			flat(r.within, holders)
		}
	}
	flat(runs, nil)
	if len(all) != 3+9+27 {
		t.Errorf("%d limits", len(all))
	}
	for limit, holders := range all {
		for _, others := range all {
			for _, m := range others {
				want := false
				for _, h := range holders {
					want = want || h == m
				}
				if m.holds(limit) != want {
					t.Errorf("%d holds %d: %v", m.limit, limit, !want)
				}
			}
		}
	}
	for own, want := range map[uint64]uint64{
		unlimited: 7_000_000_005_999_999_999, 1 << 63: 7_000_000_005_999_999_999, // as NewMark's form says
		7_000_000_005_999_999_999: 7_000_000_005_000_059_999, 7_000_000_005_000_059_999: 7_000_000_005_000_050_005,
		7_000_000_005_000_050_005: 0, 0: 0, 819200: 0, lowest - 1: 0,
	} {
		if got := allot(own, 5); got != want {
			t.Errorf("inside %d: %d, want %d", own, got, want)
		}
	}
	// The last of them is no run of a level above.
	if m := deep(7_000_000_005_999_999_999, 99_998); span(m.limit) != inner {
		t.Errorf("%d", m.limit)
	}
	if (mark{}).holds(0) || (mark{}).holds(unlimited) || deep(unlimited, 1).holds(unlimited) {
		t.Error("holds what is no mark")
	}
}
