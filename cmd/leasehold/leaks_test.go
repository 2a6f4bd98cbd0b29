//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// After a yes, the leaks in question are removed if they are unchanged.
func TestLeaksAreRemovedAfterAsking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile []string // what another program does before the answer
		answer    string
		code      string
		says      string
		left      string // what the key has in the end
	}{
		"yes": {nil, "y", "0", "removed endless lease of lock a", "<nil>"},
		"no":  {nil, "", "1", "nothing was removed", "theirs"},
		"yes, and it is gone": {[]string{"DEL", "lock:a"}, "yes", "0",
			"not there any more: endless lease of lock a", "<nil>"},
		"yes, and it has an end": {[]string{"PEXPIRE", "lock:a", "60000"}, "yes", "0",
			"not there any more: endless lease of lock a", "theirs"},
		"yes, and another one has it": {[]string{"SET", "lock:a", "another"}, "yes", "0",
			"not there any more: endless lease of lock a", "another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.ForTest(t, redisserver.Config{})
			m := newMachine(t).use(server.URL() + "?" + unguarded)
			redisCommand(t, server, "SET", "lock:a", "theirs")
			s := m.on(exec.Command("sh", "-c", binary+` leaks --fix; echo "ended $?"`))
			s.see("endless lease of lock a")
			if c.meanwhile != nil {
				redisCommand(t, server, c.meanwhile...)
			}
			s.keys(c.answer + "\n")
			if got := s.see("ended " + c.code); !strings.Contains(got, c.says) {
				t.Errorf("it said %q, want %q", got, c.says)
			}
			value, err := server.Command("GET", "lock:a")
			if text, ok := value.(string); err != nil || ok != (c.left != "<nil>") || ok && text != c.left {
				t.Errorf("at the key is %v, want %s (%v)", value, c.left, err)
			}
		})
	}
}
