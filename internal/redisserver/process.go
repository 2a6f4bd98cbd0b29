package redisserver

import (
	"os"
	"os/exec"
	"runtime"
)

// process is one run of a server.
type process struct {
	*os.Process
	done   chan struct{} // closed when it has ended and is reaped
	paused bool          // told to stop, and not yet to go on
}

// launch starts a program that dies with this process.
//
// On Linux the system kills it when the thread that started it ends. So one goroutine
// keeps that thread to itself from the start of the program to its end.
func launch(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.Process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ended reports whether it has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
