package process

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// haltLimit is how long a program may keep running after it was told to stop. It is long because
// test machines are slow at times.
const haltLimit = 30 * time.Second

// awaitHalt waits until all threads of a stopped program stand still. Each may run on for a moment.
func (p *Process) awaitHalt() error {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		running, err := p.running()
		if err != nil || running == "" {
			return err
		}
		if time.Since(began) > haltLimit {
			return fmt.Errorf("process %d was told to stop, and after %v this goes on: %s", p.Pid, haltLimit, running)
		}
	}
}

// running returns the status of a thread that still runs, or an empty string if none does.
func (p *Process) running() (string, error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid))
	if err != nil {
		return "", err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", p.Pid, thread.Name()))
		if err != nil {
			continue // the thread has ended
		}
		// See proc_pid_stat(5): the state follows the name, which is in parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if !bytes.HasPrefix(state, []byte("T")) {
			return string(stat), nil
		}
	}
	return "", nil
}
