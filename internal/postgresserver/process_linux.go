package postgresserver

import "syscall"

// process lets the system end a server together with the thread that starts it.
func process() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: quit} }
