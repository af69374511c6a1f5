package git

import "testing"

// TestCallKeepsItsFirstError: what is asked after a command has failed is not done, and a
// failure is not taken for the no of a later command.
func TestCallKeepsItsFirstError(t *testing.T) {
	t.Parallel()
	no := []string{"config", "--get", "none.such"} // its exit status is 1
	c := &call{dir: t.TempDir()}
	if c.yes(t.Context(), no...) || c.err != nil {
		t.Errorf("no: %v", c.err)
	}
	if !c.yes(t.Context(), "version") || c.err != nil {
		t.Errorf("yes: %v", c.err)
	}
	c.run(t.Context(), no...)
	first := c.err
	if out := c.run(t.Context(), "version"); first == nil || out != "" || c.err != first {
		t.Errorf("run after %v: %q, %v", first, out, c.err)
	}
	if c.yes(t.Context(), no...) || c.err != first {
		t.Errorf("ask after %v: %v", first, c.err)
	}
}
