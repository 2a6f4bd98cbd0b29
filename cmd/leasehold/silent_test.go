//go:build unix

package main

import (
	"net"
	"strings"
	"testing"
)

// No answer is neither "held" nor "free": nobody has said so. A cron job that may be skipped when the lock is held must
// not be skipped silently for ever.
func TestNoAnswerIsNeitherHeldNorFree(t *testing.T) {
	t.Parallel()
	silent := func() string { // a server that accepts connections and does not answer, as one that was stopped
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().String()
	}
	file := newMachine(t)
	file.do("ls").want(t, 0)
	file.lockFile()
	var begun []func()
	for name, m := range map[string]*machine{
		"a locked file": file,
		"redis":         newMachine(t).use("redis://" + silent()),
		"cluster":       newMachine(t).use("redis+cluster://" + silent()),
		"redlock":       newMachine(t).use("redlock://" + silent() + "," + silent() + "," + silent()),
		"redisson":      newMachine(t).use("redisson://" + silent()),
		"postgres":      newMachine(t).use("postgres://user@" + silent() + "/db"),
		"etcd":          newMachine(t).use("etcd://" + silent()),
		"zookeeper":     newMachine(t).use("zookeeper://" + silent()),
	} {
		commands := []string{"run -w 100ms --skip-ok a -- echo ran", "run -w 100ms a -- echo ran",
			"run -n --skip-ok a -- echo ran"}
		if m != file { // it can be read
			commands = append(commands, "wait -w 100ms a", "check a")
		}
		for _, words := range commands {
			p := m.start(strings.Fields(words)...)
			begun = append(begun, func() {
				out, r := p.remaining(), p.wait()
				if r.code != 69 || len(out) != 0 || strings.Count(r.err, "\n") != 1 {
					t.Errorf("%s: %s: exit code %d, stdout %q, stderr %q", name, words, r.code, out, r.err)
				}
			})
		}
	}
	for _, end := range begun {
		end()
	}
}
