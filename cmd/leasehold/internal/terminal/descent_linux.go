package terminal

import (
	"bytes"
	"os"
	"strconv"
)

// descends reports whether the process is a descendant of this one.
func descends(pid int) bool {
	for self := os.Getpid(); pid > 1; {
		if pid = parent(pid); pid == self {
			return true
		}
	}
	return false
}

// parent returns the number of the parent of a process, or 0 if there is no such process.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// "PID (NAME) STATE PARENT ...", and a name may have parentheses and spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	number, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return number
}
