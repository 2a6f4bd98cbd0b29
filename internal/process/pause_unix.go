//go:build unix

package process

import "syscall"

// Pause freezes the program: its connections stay open, and it does nothing. It returns when the
// program has stopped. Resume lets it continue.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.awaitHalt()
}

// Resume ends a Pause.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }
