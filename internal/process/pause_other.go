//go:build !unix

package process

import "errors"

// Pause is not supported here.
func (p *Process) Pause() error {
	return errors.New("this system cannot stop a process and let it go on: use a Unix")
}

// Resume does nothing, as nothing can be paused.
func (p *Process) Resume() error { return nil }
