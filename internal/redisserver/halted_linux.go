package redisserver

import (
	"bytes"
	"fmt"
	"os"

	"github.com/leasehold-go/leasehold/internal/process"
)

// awaitPaused waits until a process that was told to stop has done so. It may run on for a moment.
func awaitPaused(p *process.Process) error {
	return await(fmt.Sprintf("process %d is stopped", p.Pid), func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil {
			return err
		}
		// See proc_pid_stat(5): the state comes after the name, which is in parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if !bytes.HasPrefix(state, []byte("T")) {
			return fmt.Errorf("its state is %.1s", state)
		}
		return nil
	})
}
