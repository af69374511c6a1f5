//go:build !unix

package progress

// OnStop does nothing here: there is no signal by which a terminal stops a program.
func (d *Display) OnStop() (release func()) { return func() {} }
