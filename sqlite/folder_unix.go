//go:build unix

package sqlite

import (
	"errors"
	"os"
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
