package environ

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LC_ALL=C", "LANG", "ZOO=1", "AWS_SECRET=x", "PWD=/", "GOOGLE_API_KEY=k", "GOFLAGS=-mod=mod", "ZOO=2", "=C:=x"}
	for _, tt := range []struct {
		name          string
		names         []string
		kept, dropped []string
	}{
		{"checks", Checks(), []string{"PATH=/bin", "LC_ALL=C", "LANG", "GOFLAGS=-mod=mod"}, []string{"", "AWS_SECRET", "GOOGLE_API_KEY", "ZOO"}},
		{"all", []string{"*"}, []string{"PATH=/bin", "LC_ALL=C", "LANG", "ZOO=1", "AWS_SECRET=x", "GOOGLE_API_KEY=k", "GOFLAGS=-mod=mod", "ZOO=2", "=C:=x"}, nil},
		{"named", []string{"ZOO", "LC_*"}, []string{"LC_ALL=C", "ZOO=1", "ZOO=2"}, []string{"", "AWS_SECRET", "GOFLAGS", "GOOGLE_API_KEY", "LANG", "PATH"}},
		{"nothing", []string{}, nil, []string{"", "AWS_SECRET", "GOFLAGS", "GOOGLE_API_KEY", "LANG", "LC_ALL", "PATH", "ZOO"}},
	} {
		kept, dropped := Keep(environ, tt.names)
		if diff := cmp.Diff([][]string{tt.kept, tt.dropped}, [][]string{kept, dropped}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
