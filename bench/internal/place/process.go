package place

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a server that was started.
type process struct {
	*os.Process
	done chan struct{} // closed when it has ended
}

// launch starts a program that dies with this process. On Linux the system ends it with the thread that started it, so
// a goroutine keeps that thread to itself.
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

// kill ends it and returns when it is gone.
func (p *process) kill() {
	_ = p.Kill() // it may have ended by itself
	<-p.done
}
