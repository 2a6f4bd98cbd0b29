//go:build !unix

package sqlite

import "io/fs"

// flushFolder has nothing to do where folders cannot be flushed.
func flushFolder(string) error { return nil }

// readByAll cannot tell where modes do not say who may read.
func readByAll(string, fs.FileMode) bool { return false }

// mayWrite cannot tell here.
func mayWrite(string) bool { return true }
