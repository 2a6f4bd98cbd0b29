//go:build unix && !linux

package postgresserver

import "syscall"

func process() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
