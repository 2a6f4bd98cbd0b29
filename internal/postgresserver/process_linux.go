package postgresserver

import "syscall"

// attributes let the system end a server together with the thread that starts it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: quit} }
