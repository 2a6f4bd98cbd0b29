//go:build !linux

package sqlite

// checkFileSystem cannot tell here: network file systems must be kept away from
// by hand.
func checkFileSystem(string) error { return nil }
