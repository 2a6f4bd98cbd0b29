//go:build !unix

package sqlite

// flushFolder has nothing to do where folders cannot be flushed.
func flushFolder(string) error { return nil }
