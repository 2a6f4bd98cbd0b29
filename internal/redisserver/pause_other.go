//go:build !unix

package redisserver

import "errors"

func pause(*process) error {
	return errors.New("this system cannot stop a process and let it go on: use a Unix")
}

// resume has nothing to do, as nothing can be paused.
func resume(*process) error { return nil }
