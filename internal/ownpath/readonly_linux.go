package ownpath

import "syscall"

// cannotBeWritten reports whether a file is on a file system that is mounted read-only, whoever it belongs to. So are
// the files that Docker Compose passes to a container, which belong to a user that does not exist there.
func cannotBeWritten(path string) bool {
	const readOnly = 1 // ST_RDONLY
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Flags&readOnly != 0
}
