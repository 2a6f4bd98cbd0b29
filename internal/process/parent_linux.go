package process

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the system kill the program when the thread that starts it ends, unless the
// command specifies another signal.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
