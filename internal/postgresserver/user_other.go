//go:build !unix

package postgresserver

import (
	"os"
	"syscall"
)

var quit = os.Kill

func unprivileged(string) (func() *syscall.SysProcAttr, error) {
	return func() *syscall.SysProcAttr { return nil }, nil
}
