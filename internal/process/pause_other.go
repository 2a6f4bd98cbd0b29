//go:build !unix

package process

import "errors"

// Pause freezes the program, which cannot be done here.
func (p *Process) Pause() error {
	return errors.New("this system cannot stop a process and let it go on: use a Unix")
}

// Resume has nothing to do, as nothing can be paused.
func (p *Process) Resume() error { return nil }
