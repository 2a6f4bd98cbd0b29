package zookeeperserver

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// When Pause returns, the process has come to a halt.
func TestPausedProcessStandsStill(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	stat := fmt.Sprintf("/proc/%d/stat", s.PID()) // it has the processor time that the server has used
	for range 10 {
		noErr(t, s.Pause())
		before, err := os.ReadFile(stat)
		noErr(t, err)
		time.Sleep(5 * time.Millisecond)
		after, err := os.ReadFile(stat)
		noErr(t, err)
		if string(before) != string(after) {
			t.Fatalf("it went on: %s, and then %s", before, after)
		}
		noErr(t, s.Resume())
	}
}
