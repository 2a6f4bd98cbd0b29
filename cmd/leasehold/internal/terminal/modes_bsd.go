//go:build unix && !linux && !solaris && !aix

package terminal

import "golang.org/x/sys/unix"

const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)
