//go:build !linux

package sqlite

// statFolder cannot find out the free space on this system.
func statFolder(string) (free int64, err error) { return -1, nil }
