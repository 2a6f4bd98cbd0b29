package group

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// start runs the program so that it dies with this process, and makes orphans of
// its group children of this process, so that it can be told when the last is
// gone.
func start(path string, argv, env []string) (int, error) {
	// Without it (a kernel before 3.4) orphans go to init, which reaps them as well, a little later.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}
