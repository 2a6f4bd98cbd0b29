package postgresserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// attributes make the system end a server together with the thread that starts it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: quit} }

// processTree returns the numbers of the processes of a server: first the first one, then its children.
func processTree(first int) []int {
	family := []int{first}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, stat := range stats {
		fields := fields(stat)
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(first) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				family = append(family, pid)
			}
		}
	}
	return family
}

// fields returns the state of a process, the number of its parent, and what follows in proc_pid_stat(5) after the name,
// which is in parentheses. It returns none if the process has ended.
func fields(stat string) [][]byte {
	text, err := os.ReadFile(stat)
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

// pause stops a process, and returns when it has stopped or ended.
func pause(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for began := time.Now(); time.Since(began) < Patience; time.Sleep(time.Millisecond) {
		f := fields(fmt.Sprintf("/proc/%d/stat", pid))
		if len(f) == 0 || bytes.ContainsAny(f[0], "TZX") {
			return nil
		}
	}
	return fmt.Errorf("postgresserver: process %d does not stop after %v", pid, Patience)
}

// killAll kills processes.
func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// resume continues paused processes, and does nothing to others.
func resume(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
}
