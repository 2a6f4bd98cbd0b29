package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// isDescendant reports whether a process of the group is a descendant of this process. The group's first process may
// have ended before the others.
func isDescendant(group int) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // this pattern causes no error
	parents, members := map[int]int{}, []int{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, parent, in := parseStat(stat)
		if parents[pid] = parent; in == group {
			members = append(members, pid)
		}
	}
	for _, pid := range members {
		for range parents { // parents read at different moments may form a circle
			if pid = parents[pid]; pid == os.Getpid() {
				return true
			}
		}
	}
	return false
}

// parseStat reads the numbers of a process, its parent and its group from proc(5): "PID (NAME) STATE PARENT GROUP ...".
// The name may contain spaces and parentheses.
func parseStat(stat []byte) (pid, parent, group int) {
	start, end := bytes.IndexByte(stat, ' '), bytes.LastIndexByte(stat, ')')
	if start < 0 || end < start {
		return 0, 0, 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return 0, 0, 0
	}
	number := func(text []byte) int { n, _ := strconv.Atoi(string(text)); return n } // 0 is no process
	return number(stat[:start]), number(fields[1]), number(fields[2])
}
