//go:build unix && !linux

package process

// awaitHalt does nothing here. A program stops very soon after it is told to.
func (p *Process) awaitHalt() error { return nil }
