package redisserver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent lets the system kill the program when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// awaitPaused waits until a process that was told to stop has done so. It may run on for a moment.
func awaitPaused(p *process) error {
	return await(fmt.Sprintf("process %d is stopped", p.Pid), func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil {
			return err
		}
		// See proc_pid_stat(5): the state comes after the name, which is in parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if !bytes.HasPrefix(state, []byte("T")) {
			return fmt.Errorf("its state is %.1s", state)
		}
		return nil
	})
}
