package processgroup

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// start runs the program so that it dies with this process. Orphans of the group become children of this process, so
// that it can tell when the last one has ended.
func start(path string, argv, env []string) (int, error) {
	// Without this (kernels before 3.4) init reaps the orphans a little later.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}
