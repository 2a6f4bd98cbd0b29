//go:build unix

package redisserver

import (
	"syscall"

	"github.com/leasehold-go/leasehold/internal/process"
)

func pause(p *process.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitPaused(p)
}

func resume(p *process.Process) error { return p.Signal(syscall.SIGCONT) }
