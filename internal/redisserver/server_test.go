package redisserver

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
)

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect sends a command that must have a reply.
func expect(t *testing.T, s *Server, want any, args ...string) {
	t.Helper()
	got, err := s.Command(args...)
	if err != nil || got != want {
		t.Fatalf("%v replied %v, %v, want %v", args, got, err, want)
	}
}

// expectCode sends a command that must be refused.
func expectCode(t *testing.T, s *Server, want string, args ...string) {
	t.Helper()
	_, err := s.Command(args...)
	if e, _ := errors.AsType[ReplyError](err); e.Code() != want {
		t.Fatalf("%v failed with %v, want %s", args, err, want)
	}
}

func info(t *testing.T, s *Server, field string) string {
	t.Helper()
	value, err := s.Info(field)
	noErr(t, err)
	return value
}

func TestPlainServer(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	expect(t, s, "PONG", "PING")
	expect(t, s, nil, "GET", "a")
	expect(t, s, int64(1), "INCR", "a")
	expectCode(t, s, "ERR", "DEBUG", "no-such-thing")
	if info(t, s, "no_such_field") != "" {
		t.Error("a field is there that no server has")
	}
	if s.URL() != "redis://"+s.Addr() {
		t.Errorf("the URL is %s", s.URL())
	}
	if !strings.Contains(s.Log(), "Ready to accept connections") {
		t.Errorf("the log is %q", s.Log())
	}
	if list, err := s.Command("CONFIG", "GET", "save"); err != nil || fields(list)["save"] != "" {
		t.Errorf("persistence is %v, %v, want none", list, err)
	}
}

func TestLinesOverride(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Lines: []string{"maxmemory 10mb", "enable-debug-command no", "user ann on >pw ~* +ping"}})
	list, err := s.Command("CONFIG", "GET", "maxmemory")
	noErr(t, err)
	if got := fields(list)["maxmemory"]; got != "10485760" {
		t.Errorf("maxmemory is %s", got)
	}
	expectCode(t, s, "ERR", "DEBUG", "JMAP")
	expect(t, s, "OK", "AUTH", "ann", "pw")
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Password: `a "b" c`})
	expect(t, s, "PONG", "PING")
	stranger := &Server{port: s.port}
	expectCode(t, stranger, "NOAUTH", "PING")
	wrong := &Server{port: s.port, password: "secret"}
	expectCode(t, wrong, "WRONGPASS", "PING")
	if _, err := wrong.Command("PING"); strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the password: %v", err)
	}
	if _, err := s.Command("AUTH", "ann", "secret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the password: %v", err)
	}
	if want := "redis://:a%20%22b%22%20c@" + s.Addr(); s.URL() != want {
		t.Errorf("the URL is %s, want %s", s.URL(), want)
	}
}

func TestAPasswordInTheLinesIsNoReasonToWait(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Lines: []string{"requirepass secret"}})
	expectCode(t, s, "NOAUTH", "PING")
}

func TestKillLosesWhatIsNotPersisted(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	expect(t, s, "OK", "SET", "a", "b")
	first, pid, addr, dir := info(t, s, "run_id"), s.PID(), s.Addr(), s.Dir()
	if err := s.Restart(); err == nil || !strings.Contains(err.Error(), "call Kill or Stop") {
		t.Fatalf("Restart of a running server: %v", err)
	}
	s.Kill()
	if s.PID() != 0 || s.Up() {
		t.Fatal("it runs after Kill")
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Fatal("somebody listens after Kill")
	}
	s.Kill()           // does nothing
	noErr(t, s.Stop()) // does nothing either
	if s.Pause() == nil {
		t.Error("what does not run was paused")
	}
	noErr(t, s.Restart())
	expect(t, s, nil, "GET", "a")
	if info(t, s, "run_id") == first || s.PID() == pid || s.Addr() != addr || s.Dir() != dir {
		t.Error("it is not another run of the same server")
	}
}

// A start that fails because the server was killed does not affect the next run.
func TestAStartThatFailsEndsItsOwnRun(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	s.Kill()
	first, err := s.launchProcess()
	noErr(t, err)
	s.Kill()
	second, err := s.launchProcess()
	noErr(t, err)
	if err := s.awaitAnswer(first, ready); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("%v, want that it has ended", err)
	}
	if s.PID() != second.Pid {
		t.Errorf("process %d runs, want %d", s.PID(), second.Pid)
	}
	noErr(t, s.awaitAnswer(second, ready))
}

func TestKillKeepsWhatIsPersisted(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	expect(t, s, "OK", "SET", "a", "b")
	s.Kill()
	noErr(t, s.Restart())
	expect(t, s, "b", "GET", "a")
}

func TestStopSaves(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Lines: []string{"save 3600 1"}})
	expect(t, s, "OK", "SET", "a", "b")
	noErr(t, s.Pause()) // stopping a paused server resumes it
	noErr(t, s.Stop())
	noErr(t, s.Restart())
	expect(t, s, "b", "GET", "a")
}

func TestRestartLoading(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Lines: []string{"save 3600 1", "key-load-delay 20000", "rdbcompression no",
		"loading-process-events-interval-bytes 1024"}})
	expect(t, s, "OK", "DEBUG", "POPULATE", "50", "key", "1000")
	noErr(t, s.Stop())
	noErr(t, s.RestartLoading())
	expectCode(t, s, "LOADING", "GET", "a")
	s.Kill()
	noErr(t, s.Restart())
	expect(t, s, int64(50), "DBSIZE")
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	noErr(t, s.Pause())
	if s.Up() || s.PID() == 0 {
		t.Error("it is up, or gone, while it is paused")
	}
	_, err := s.command(50*time.Millisecond, "PING")
	if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
		t.Fatalf("PING failed with %v, want a timeout", err)
	}
	noErr(t, s.Resume())
	expect(t, s, "PONG", "PING")
	noErr(t, s.Pause())
	s.Kill()
	noErr(t, s.Restart())
	if !s.Up() {
		t.Error("it is not up after a restart")
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	noErr(t, s.Close())
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	if _, err := s.Command("PING"); err == nil {
		t.Error("it answers after Close")
	}
	noErr(t, s.Close())
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := Start(Config{Lines: []string{"no-such-setting 1"}})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Fatalf("the error is %v", err)
	}
	_, err = Start(Config{Program: "no-such-program"})
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Fatalf("the error is %v", err)
	}
}

// If another program takes a port between the check and the start, the start is repeated.
func TestPortLost(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{}).Close() // skips the test if there is no Redis
	var thief net.Listener
	s, err := startWith(Config{}, nil, func(port int) string {
		if thief == nil {
			var err error
			thief, err = net.Listen("tcp", ports.Address(port))
			noErr(t, err)
		}
		return Config{}.text(port)
	})
	defer thief.Close()
	noErr(t, err)
	defer s.Close()
	expect(t, s, "PONG", "PING")
	if s.Addr() == thief.Addr().String() {
		t.Error("two have the same port")
	}
}
