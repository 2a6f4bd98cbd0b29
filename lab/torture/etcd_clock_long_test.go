//go:build long && linux

package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// etcdWithItsOwnClock compiles an etcd server whose clock can be set. A program in Go asks the
// kernel for the time itself, so no library that is loaded first can change the answer: time.Now
// has to be another one.
func etcdWithItsOwnClock(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("../../internal/etcdserver/build/v3.6")
	noErr(t, err)
	main, err := filepath.Abs("testdata/etcdclock/main.go")
	noErr(t, err)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	noErr(t, err)
	original := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	noErr(t, err)
	const reads = "sec, nsec, mono := runtimeNow()\n"
	at := strings.Index(string(text), "func Now() Time {\n\t"+reads)
	if at < 0 {
		t.Fatalf("%s of %s does not read the clock as expected: change this test", original, runtime.Version())
	}
	shifted := string(text[:at]) + "// WallShift is how many seconds Now is ahead.\nvar WallShift int64\n\n" +
		strings.Replace(string(text[at:]), reads, reads+"\tsec += WallShift\n", 1)
	replaced := filepath.Join(dir, "time.go")
	noErr(t, os.WriteFile(replaced, []byte(shifted), 0o600))
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{original: replaced, filepath.Join(source, "main.go"): main}})
	noErr(t, err)
	list := filepath.Join(dir, "overlay.json")
	noErr(t, os.WriteFile(list, overlay, 0o600))
	program = filepath.Join(dir, "etcd")
	build := exec.Command("go", "build", "-overlay", list, "-o", program, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Leases of etcd do not end by the wall clock, wherever it jumps to.
func TestEtcdClockThatJumps(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shift")
	shiftClock(t, file, 0)
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true, Election: fastElection.Election,
		Program: etcdWithItsOwnClock(t), Env: []string{"CLOCK_SHIFT=" + file}})
	first, second := openEtcd(t, s.Addr()), openEtcd(t, s.Addr())
	const ttl = 4 * time.Second
	held := lock(t, first.Mutex("name", leasehold.TTL(ttl)))
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		shiftClock(t, file, ahead)
		var shown int64
		await(t, "the server has noticed", func() bool {
			says := fmt.Sprintf("ahead by %.0f the clock shows ", ahead.Seconds())
			_, text, found := strings.Cut(s.Log(), says)
			_, err := fmt.Sscan(text, &shown)
			return found && err == nil
		})
		if d := time.Until(time.Unix(shown, 0)); (d - ahead).Abs() > time.Minute {
			t.Fatalf("the server's clock is %v ahead, want %v", d, ahead)
		}
		began := time.Now()
		await(t, "the lease lasts for longer than without renewals", func() bool {
			if err := held.Err(); err != nil {
				t.Fatalf("with a clock %v ahead the lease has ended: %v", ahead, err)
			}
			return held.Deadline().After(began.Add(3 * ttl))
		})
		if _, err := second.Mutex("name").TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
			t.Fatalf("with a clock %v ahead: %v, want ErrHeld", ahead, err)
		}
	}
	unlock(t, held)
	unlockNext(t, lock(t, second.Mutex("name")), held)
}
