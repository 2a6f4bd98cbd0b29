//go:build unix && !linux

package processgroup

import "syscall"

// start runs the program. The kernel offers no way to kill it together with this process.
func start(path string, argv, env []string) (int, error) {
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
}
