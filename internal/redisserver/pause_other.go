//go:build !unix

package redisserver

import (
	"errors"

	"github.com/leasehold-go/leasehold/internal/process"
)

func pause(*process.Process) error {
	return errors.New("this system cannot stop a process and let it go on: use a Unix")
}

// resume has nothing to do, as nothing can be paused.
func resume(*process.Process) error { return nil }
