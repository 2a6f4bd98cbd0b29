//go:build unix

package ownpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckBeside returns an error if a file beside the one that was given to [Check], with the same group, could be
// changed by others: a folder that is private now may have been open to others before, and a file may have kept the
// mode that the other one had. The file need not exist. Links are not followed.
func CheckBeside(path string, group bool) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a plain file (%s): remove it", path, info.Mode())
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	return check{groupMayWrite: group}.checkFile(path, info, folder)
}

// ReadByAll reports whether every user of the machine may read a file: its mode allows it, and all folders above let
// them pass.
func ReadByAll(path string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if file, err := os.Stat(path); err != nil || file.Mode()&0o004 == 0 {
		return false
	}
	for folder, before := filepath.Dir(path), path; folder != before; folder, before = filepath.Dir(folder), folder {
		if info, err := os.Stat(folder); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
	}
	return true
}

// Group describes the group that may write a file or its folder, as in "the group 100", or "nobody else".
func Group(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "nobody else"
	}
	for _, path := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(path); err == nil && info.Mode()&0o020 != 0 {
			return fmt.Sprintf("the group %d", ids(info).Gid)
		}
	}
	return "nobody else"
}
