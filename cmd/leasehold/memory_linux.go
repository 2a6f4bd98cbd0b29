package main

import "golang.org/x/sys/unix"

// keepMemoryPrivate tells the kernel to write no core dump of this process, and to let no other process of the same
// user read its memory or environment, as ssh-agent does: both may contain the password of the engine and the secrets
// of owners. Programs started by this one do not inherit it. If the kernel refuses, everything else still works.
func keepMemoryPrivate() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
