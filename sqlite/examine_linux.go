package sqlite

import "golang.org/x/sys/unix"

// statFolder returns how many bytes are free for this user on the disk of a folder, and why this user cannot create
// files in the folder, if that is so.
func statFolder(folder string) (free int64, err error) {
	var fs unix.Statfs_t
	free = -1
	if unix.Statfs(folder, &fs) == nil {
		free = int64(min(fs.Bavail, 1<<30)) * int64(fs.Bsize) // limited, so that the product cannot overflow
	}
	return free, unix.Access(folder, unix.W_OK|unix.X_OK)
}
