package verify

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPageDefaults: the pages' numbers for what a field is without a value are those that
// it then has.
func TestPageDefaults(t *testing.T) {
	t.Parallel()
	limit := External{}.limit()
	short := strings.TrimSuffix(limit.Truncate(time.Minute).String(), "0s")
	for _, tt := range []struct{ page, want string }{
		{"docs/configuration.md", fmt.Sprintf("| `timeout`, `working_dir`, `env` | %v, ", limit.Seconds())},
		{"docs/configuration.md", fmt.Sprintf("| `model`, `max_bytes` | judge_model, %d |", maxShown)},
		{"FLAGS.md", fmt.Sprintf("bytes (0: %d)", maxShown)},
		{"FLAGS.md", fmt.Sprintf("end a verification after this TIME (default: %s; ", short)},
	} {
		text, err := os.ReadFile("../examples/ralph/" + tt.page)
		if err != nil || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s does not say %q (%v)", tt.page, tt.want, err)
		}
	}
}
