//go:build !linux

package postgresserver

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// processTree returns only the first process of the server, because its children are not known here.
func processTree(first int) []int { return []int{first} }

func pause(int) error {
	return errors.New(
		"postgresserver: which processes a server has is not known here, so it cannot be paused: use Linux",
	)
}

// killAll does nothing, because no other processes are known: the first one ends them.
func killAll([]int) {}

// resume does nothing, because nothing can be paused.
func resume([]int) {}
