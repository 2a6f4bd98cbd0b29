//go:build unix

package cron

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// ReportFlag names the descriptor to which leasehold run writes when it starts CMD.
const ReportFlag = "report-to"

// StartRun returns a function that starts leasehold run, the program at path, for a job. Its environment is that of
// this process, then env, and then that of the job. What it prints goes where this process prints. It has no input, and
// a process group of its own, so that a key that is pressed on the terminal reaches only this process.
func StartRun(path string, env []string) func(crontab.Job) (Child, error) {
	return func(j crontab.Job) (Child, error) {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		const report = 3 // the first of ExtraFiles
		args := append([]string{"run", "--" + ReportFlag + "=" + strconv.Itoa(report)}, j.Run...)
		args = append(args, "--", j.Name, "--", j.Shell(), "-c", j.Command)
		p := exec.Command(path, args...)
		p.Env = append(append(os.Environ(), env...), j.Env...)
		p.Stdout, p.Stderr = os.Stdout, os.Stderr
		p.ExtraFiles = []*os.File{write}
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = p.Start()
		_ = write.Close() // the child has its own
		if err != nil {
			_ = read.Close()
			return nil, err
		}
		c := &process{cmd: p, granted: make(chan struct{}), ended: make(chan struct{})}
		go c.wait(read)
		return c, nil
	}
}

// process is a child that is a process.
type process struct {
	cmd            *exec.Cmd
	granted, ended chan struct{}
}

func (c *process) wait(report *os.File) {
	if n, _ := report.Read(make([]byte, 1)); n > 0 {
		close(c.granted)
	}
	_ = report.Close()
	_ = c.cmd.Wait() // ExitCode tells
	close(c.ended)
}

// Granted implements Child.
func (c *process) Granted() <-chan struct{} { return c.granted }

// Ended implements Child.
func (c *process) Ended() <-chan struct{} { return c.ended }

// ExitCode implements Child.
func (c *process) ExitCode() int {
	status, is := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if is && status.Signaled() {
		return exit.Signal(int(status.Signal()))
	}
	return c.cmd.ProcessState.ExitCode()
}

// Signal implements Child.
func (c *process) Signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return // it has become somebody else's, which it cannot
	}
}
