package sqlite

import "golang.org/x/sys/unix"

// lookAround tells how many bytes there is room for on the disk of a folder, and why this user can make nothing in it, if that is so.
func lookAround(folder string) (free int64, err error) {
	var fs unix.Statfs_t
	free = -1
	if unix.Statfs(folder, &fs) == nil {
		free = int64(min(fs.Bavail, 1<<30)) * int64(fs.Bsize) // which is enough, whatever there is
	}
	return free, unix.Access(folder, unix.W_OK|unix.X_OK)
}
