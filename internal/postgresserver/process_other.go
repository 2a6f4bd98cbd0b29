//go:build !linux

package postgresserver

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// family is only the first process of the server: which others there are is not looked for.
func family(first int) []int { return []int{first} }

func pause(int) error {
	return errors.New("postgresserver: which processes a server has is not known here, so it cannot be paused: use Linux")
}

// slay has nothing to do, as no others are known: the first process ends them.
func slay([]int) {}

// resume has nothing to do, as nothing can be paused.
func resume([]int) {}
