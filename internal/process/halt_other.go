//go:build unix && !linux

package process

// awaitHalt cannot tell here. A process stops very soon after it is told to.
func (p *Process) awaitHalt() error { return nil }
