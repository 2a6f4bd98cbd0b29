//go:build unix && !linux

package ownpath

// cannotBeWritten is only found out on Linux.
func cannotBeWritten(path string) bool { return false }
