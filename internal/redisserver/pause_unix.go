//go:build unix

package redisserver

import "syscall"

func pause(p *process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitPaused(p)
}

func resume(p *process) error { return p.Signal(syscall.SIGCONT) }
