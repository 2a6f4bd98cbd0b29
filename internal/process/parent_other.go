//go:build !linux

package process

import "os/exec"

// dieWithParent does nothing here: the program outlives a process that does not end it.
func dieWithParent(*exec.Cmd) {}
