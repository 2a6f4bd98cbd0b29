package apitext

import "slices"

// Compare returns the lines that only before has, and those that only after has. Both are sorted.
func Compare(before, after []string) (removed, added []string) {
	return without(before, after), without(after, before)
}

func without(lines, others []string) (left []string) {
	for _, line := range lines {
		if _, found := slices.BinarySearch(others, line); !found {
			left = append(left, line)
		}
	}
	return left
}
