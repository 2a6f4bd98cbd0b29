package redisserver

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// roleEnv makes the test binary a process that starts a server and stays.
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
	if _, err := conn.Read(make([]byte, 1)); err == nil { // as long as it lives, it says nothing
		t.Fatal("the server says something")
	}
	noErr(t, await("the port is free", func() error {
		if conn, err := net.Dial("tcp", words[0]); err == nil {
			return errors.Join(errors.New("somebody listens"), conn.Close())
		}
		return nil
	}))
}

// What started a server may end, thread and all.
func TestServerOutlivesItsThread(t *testing.T) {
	t.Parallel()
	var s *Server
	var err error
	tid := <-inAThreadThatEnds(func() { s, err = Start(Config{}) })
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	noErr(t, err)
	defer s.Close()
	noErr(t, await("the thread ends", func() error {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err == nil {
			return errors.New("it is there")
		}
		return nil
	}))
	expect(t, s, "PONG", "PING")
}

// inAThreadThatEnds calls a function in a thread of its own, and sends the number of the thread.
func inAThreadThatEnds(do func()) <-chan int {
	tid := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // it is not unlocked, so that the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			tid <- <-inAThreadThatEnds(do) // the first thread of a process never ends
			return
		}
		do()
		tid <- syscall.Gettid()
	}()
	return tid
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Env: []string{"LD_PRELOAD=/no/such.so"}}) // the loader complains, and goes on without
	if !strings.Contains(s.Log(), "/no/such.so") {
		t.Errorf("the server does not have the variable: its log is %q", s.Log())
	}
}

// When Pause returns, the process has come to a halt.
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
