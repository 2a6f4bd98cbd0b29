//go:build unix && !linux

package terminal

// isDescendant reports whether a process of the group is a descendant of this process. It is unknown on these systems.
func isDescendant(int) bool { return false }
