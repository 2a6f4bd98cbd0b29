// Package process starts programs, such as servers for tests and benchmarks, that end with this
// process. A [Process] is one run of a program; a [Server] is a program that can be started again
// with the data it has left.
package process

import (
	"os"
	"os/exec"
	"runtime"
)

// Process is one run of a program. It is safe for concurrent use.
type Process struct {
	*os.Process
	done chan struct{}
}

// Start starts a program that ends with this process, on Linux. It adds to cmd.SysProcAttr, which
// may specify a signal other than SIGKILL (Pdeathsig). cmd must not be used afterwards. Only the
// program's own output says how it ended.
//
// The system kills the program when the thread that started it ends. So one goroutine locks that
// thread from the start of the program to its end.
func Start(cmd *exec.Cmd) (*Process, error) {
	dieWithParent(cmd)
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.Process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its output
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Done is closed when the program has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the program at once, as a crash does, even if it is paused, and returns when it has
// ended. If it has ended already, Kill does nothing.
func (p *Process) Kill() {
	_ = p.Process.Kill() // fails if the program has just ended, which is fine
	<-p.done
}
