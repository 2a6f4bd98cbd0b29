// Package process starts programs, such as servers for tests and benchmarks, that die with this one. A [Process] is one run of a program, and a [Server]
// a program that is started again on what it has left.
package process

import (
	"os"
	"os/exec"
	"runtime"
)

// Process is one run of a program. Many goroutines may use it.
type Process struct {
	*os.Process
	done chan struct{}
}

// Start starts a program that dies with this process, on Linux. It adds to cmd.SysProcAttr, where another signal than SIGKILL may stand
// (Pdeathsig), and cmd is not to be used any more. How the program ends is told nowhere but in its own output.
//
// The system kills it when the thread that started it ends. So one goroutine keeps that thread to itself from the start of the program to its end.
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

// Done is closed when the program has ended and is reaped.
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

// Kill ends the program at once, as a crash does, even if it is paused, and returns when it is gone. If it has ended already, Kill does nothing.
func (p *Process) Kill() {
	_ = p.Process.Kill() // it fails if the program has just ended, which is as good
	<-p.done
}
