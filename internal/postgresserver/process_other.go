//go:build unix && !linux

package postgresserver

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
