package redisserver

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// roleEnv turns the test binary into a process that starts a server and stays.
const roleEnv = "LEASEHOLD_TEST_START_A_SERVER"

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	if os.Getenv(roleEnv) != "" {
		s, err := Start(Config{})
		fmt.Println(s.Addr(), s.Dir(), err)
		select {}
	}
	ForTest(t, Config{}).Close() // skips the test if there is no Redis
	parent := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsParent$")
	parent.Env = append(os.Environ(), roleEnv+"=1")
	out, err := parent.StdoutPipe()
	noErr(t, err)
	noErr(t, parent.Start())
	defer parent.Wait()
	defer parent.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	noErr(t, err)
	words := strings.Fields(line)
	defer os.RemoveAll(words[1])
	conn, err := net.Dial("tcp", words[0])
	if err != nil {
		t.Fatalf("the process says %q: %v", line, err)
	}
	defer conn.Close()
	noErr(t, parent.Process.Kill())
	if _, err := conn.Read(make([]byte, 1)); err == nil { // as long as it lives, it sends nothing
		t.Fatal("the server says something")
	}
	noErr(t, await("the port is free", func() error {
		if conn, err := net.Dial("tcp", words[0]); err == nil {
			return errors.Join(errors.New("somebody listens"), conn.Close())
		}
		return nil
	}))
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Env: []string{"LD_PRELOAD=/no/such.so"}}) // the loader complains, and continues without it
	if !strings.Contains(s.Log(), "/no/such.so") {
		t.Errorf("the server does not have the variable: its log is %q", s.Log())
	}
}

// When Pause returns, the process stands still.
func TestPausedProcessStandsStill(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	for range 20 {
		noErr(t, s.Pause())
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
		noErr(t, err)
		if !strings.Contains(string(status), "T (stopped)") {
			t.Fatalf("its status is %s", status)
		}
		noErr(t, s.Resume())
	}
}
