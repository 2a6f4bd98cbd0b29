// Package busy starts processes that do nothing but use a processor: this program, started again.
package busy

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// task is the environment variable that makes the program a busy loop.
const task = "LEASEHOLD_BENCH_BUSY"

// Main turns this process into a busy loop if it was started as one. It ends with the process that has started it.
func Main() {
	if os.Getenv(task) == "" {
		return
	}
	runtime.GOMAXPROCS(1)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // returns when the parent process has ended
		os.Exit(0)
	}()
	for i := uint(0); ; i++ {
	}
}

// Loops are busy processes.
type Loops struct{ all []loop }

type loop struct {
	process *exec.Cmd
	in      io.Closer
}

// Start starts n processes.
func Start(n int) (*Loops, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &Loops{}
	for range n {
		p := exec.Command(self)
		p.Env = append(os.Environ(), task+"=1")
		in, err := p.StdinPipe()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		l.all = append(l.all, loop{p, in})
	}
	return l, nil
}

// Stop ends the processes that Start has started, and no others.
func (l *Loops) Stop() error {
	var errs []error
	for _, one := range l.all {
		errs = append(errs, one.process.Process.Kill())
	}
	for _, one := range l.all {
		_ = one.process.Wait() // says that it was killed
		_ = one.in.Close()
	}
	l.all = nil
	return errors.Join(errs...)
}
