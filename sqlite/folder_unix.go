//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mayWrite reports whether this user has the right to write a file or a folder. It does not open it: to close a file lets go of the locks that this process
// has on it.
func mayWrite(path string) bool {
	err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS)
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EROFS)
}

// flushFolder makes sure that a new file is found again after a crash of the
// machine.
func flushFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// readByAll reports whether every user of the machine may read a file: its mode lets them, and all folders above let them pass.
func readByAll(path string, file fs.FileMode) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil || file&0o004 == 0 {
		return false
	}
	for folder, before := filepath.Dir(path), path; folder != before; folder, before = filepath.Dir(folder), folder {
		if info, err := os.Stat(folder); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
	}
	return true
}
