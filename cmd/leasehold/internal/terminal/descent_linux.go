package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// descends reports whether a process of the group is a descendant of this process. The first one of the group may have ended before the others.
func descends(group int) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // no error with this pattern
	parents, members := map[int]int{}, []int{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, parent, in := kinship(stat)
		if parents[pid] = parent; in == group {
			members = append(members, pid)
		}
	}
	for _, pid := range members {
		for range parents { // what was read at different moments may lead in a circle
			if pid = parents[pid]; pid == os.Getpid() {
				return true
			}
		}
	}
	return false
}

// kinship reads the number of a process, those of its parent and its group from what proc(5) says: "PID (NAME) STATE PARENT GROUP ...". A name may have
// spaces and parentheses.
func kinship(stat []byte) (pid, parent, group int) {
	start, end := bytes.IndexByte(stat, ' '), bytes.LastIndexByte(stat, ')')
	if start < 0 || end < start {
		return 0, 0, 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return 0, 0, 0
	}
	number := func(text []byte) int { n, _ := strconv.Atoi(string(text)); return n } // what is no number is no process
	return number(stat[:start]), number(fields[1]), number(fields[2])
}
