//go:build unix

package leasehold_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
)

// pausedEnv makes the test binary the process that is paused.
const pausedEnv = "LEASEHOLD_TEST_PAUSED"

// A process that was stopped past its deadline finds its context done when it first checks, whatever its timers have
// done since.
func TestPausedProcessKnowsAtOnce(t *testing.T) {
	t.Parallel()
	if os.Getenv(pausedEnv) != "" {
		paused()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPausedProcessKnowsAtOnce$")
	cmd.Env = append(os.Environ(), pausedEnv+"=1")
	stdin, err := cmd.StdinPipe()
	noErr(t, err)
	stdout, err := cmd.StdoutPipe()
	noErr(t, err)
	noErr(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	expectLine := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the process says %q, want %q", lines.Text(), want)
		}
	}
	expectLine("held")
	noErr(t, cmd.Process.Signal(syscall.SIGSTOP))
	<-time.After(2 * leasehold.MinTTL) // the test is about real time
	fmt.Fprintln(stdin, "look")        // it reads this when it is continued
	noErr(t, cmd.Process.Signal(syscall.SIGCONT))
	expectLine("lost")
}

func paused() {
	m := leasehold.New(memory.New()).Mutex("a", leasehold.TTL(leasehold.MinTTL), leasehold.NoRenew())
	lease, err := m.Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := lease.Context()
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	switch {
	case ctx.Err() == nil:
		fmt.Println("held")
	case errors.Is(context.Cause(ctx), leasehold.ErrLost):
		fmt.Println("lost")
	}
}
