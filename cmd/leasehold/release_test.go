//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Between the question and the yes the lock goes to another holder, who keeps it.
func TestReleaseLeavesALockThatHasChangedHands(t *testing.T) {
	t.Parallel()
	for _, v := range engineSetups {
		if v.name == "memory" {
			continue // it ends with each process
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			url := v.open(t).url
			m := newMachine(t).use(url)
			first := m.hold("a")
			s := m.on(exec.Command("sh", "-c", binary+` release --force --why 'it hangs' a; echo "ended $?"`))
			s.see("token")
			next := m.start("run", "a", "--", "sh", "-c", "echo up; read x")
			first.in.Close()
			next.line()
			s.keys("y\n")
			if got := s.see("ended 1"); !strings.Contains(got, "changed hands") ||
				!strings.Contains(got, "nothing was released") {
				t.Errorf("it said %q", got)
			}
			m.do("check", "a").want(t, 1)
			if ableOf(t, url).records {
				// The attempt is recorded, and that it had no effect.
				all := decode[[]struct{ Name, Why, Outcome string }](t, m.do("audit", "-o", "json").want(t, 0))
				if len(all) != 1 || all[0].Name != "a" || all[0].Why != "it hangs" || all[0].Outcome != "gone" {
					t.Errorf("on record: %+v", all)
				}
			}
			next.in.Close()
			next.wait().want(t, 1) // that of the shell, whose input has ended, and which had the lock until then
		})
	}
}
