package sqlite

import (
	"errors"

	"golang.org/x/sys/unix"
)

// checkFileSystem refuses file systems that machines share: the -shm file, by which the processes share memory, would
// not be the same memory on all of them.
func checkFileSystem(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return err
	}
	if isNetwork(int64(fs.Type)) {
		return errors.New("it lies on a network file system, where locks in a file do not hold: " +
			"choose a path on a local disk, or an engine with a server")
	}
	return nil
}

// isNetwork reports whether a number of statfs(2) is that of a network file system.
func isNetwork(magic int64) bool {
	switch uint32(magic) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC:
		return true
	}
	return false
}
