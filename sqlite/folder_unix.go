//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
