package process

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the system kill the program when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
