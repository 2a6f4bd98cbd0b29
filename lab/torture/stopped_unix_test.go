//go:build unix

package torture

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A holder that was stopped past its TTL sees at once, when it continues, that its lease has ended.
// Its late release reports the same, and harms nobody.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	next := open(t, s.Addr(), redis.WithoutFailoverGuard()).Mutex("a", leasehold.TTL(10*time.Second))
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), holderVariable+"="+s.Addr())
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	input, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait() // the error says that the process was killed
	})
	lines := bufio.NewScanner(out)
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the holder says %q, want %q", lines.Text(), want)
		}
	}
	ask := func(what string) {
		t.Helper()
		if _, err := io.WriteString(input, what+"\n"); err != nil {
			t.Error(err)
		}
	}
	says("held")
	<-time.After(2 * holderTTL)
	ask("look") // renewed as long as the process runs
	says("lost: false")

	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	l := lock(t, next)
	if took := time.Since(stopped); took > holderTTL+2*soon {
		t.Errorf("the next had the lock after %v, want at most %v", took, holderTTL)
	}
	ask("look") // visible as soon as it continues
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says("lost: true")
	ask("release")
	says("lost: true")
	if _, err := next.TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("the lock is free after the late release: %v", err)
	}
	if err := l.Context().Err(); err != nil {
		t.Errorf("the next one's lease is over: %v", err)
	}
	unlock(t, l)
	awaitNothing(t, s, 0)
}
