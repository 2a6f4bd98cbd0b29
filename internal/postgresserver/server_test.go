package postgresserver_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustAnswer expects an answer to a query.
func mustAnswer(t *testing.T, s *postgresserver.Server, query, want string) {
	t.Helper()
	if got, err := s.Ask(query); err != nil || got != want {
		t.Fatalf("%s: %q, %v; want %q", query, got, err, want)
	}
}

func TestStartAndClose(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{})
	dir, _, _ := strings.Cut(strings.TrimPrefix(s.DSN(), "host="), " ")
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Errorf("the server does not listen: %v\n%s", err, s.Log())
	} else {
		c.Close()
	}
	mustAnswer(t, s, "SHOW listen_addresses", "")
	mustAnswer(t, s, "SHOW fsync", "off")
	if s.Addr() != "" {
		t.Errorf("its address is %s", s.Addr())
	}
	noErr(t, s.Close())
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing it again: %v", err)
	}
	if _, err := s.Ask("SELECT 1"); err == nil {
		t.Error("it answers after Close")
	}
}

func TestOnDisk(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{OnDisk: true})
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		mustAnswer(t, s, "SHOW "+name, "on")
	}
}

// The lifecycle of a server that listens on a port and keeps what it has confirmed.
func TestLife(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true, Settings: []string{"work_mem=1MB"}})
	mustAnswer(t, s, "SHOW synchronous_commit", "on")
	mustAnswer(t, s, "SHOW fsync", "off")
	mustAnswer(t, s, "SHOW work_mem", "1MB")
	mustAnswer(t, s, "CREATE TABLE kept (n int); CREATE UNLOGGED TABLE quick (n int); INSERT INTO kept VALUES (1); "+
		"INSERT INTO quick VALUES (1)", "")
	if err := s.Restart(); err == nil {
		t.Error("a server that runs was started again")
	}
	noErr(t, s.Stop())
	noErr(t, s.Stop())
	noErr(t, s.Restart())
	mustAnswer(t, s, "SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM quick)", "1|1")
	checkPauses(t, s)
	noErr(t, s.Pause())
	noErr(t, s.Kill())
	noErr(t, s.Kill())
	if s.Pause() == nil || s.Resume() == nil || s.PauseBackend(1) == nil {
		t.Error("a server that does not run was paused")
	}
	noErr(t, s.Restart())
	mustAnswer(t, s, "SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM quick)", "1|0")
	for began := time.Now(); ; { // the session of the last question may be about to end
		n, err := s.TerminateBackends("true")
		if noErr(t, err); n == 0 {
			break
		}
		if time.Since(began) > postgresserver.Patience {
			t.Fatalf("ended %d sessions, want none", n)
		}
	}
	if _, err := s.Ask("SELECT nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a wrong query: %v", err)
	}
}

// checkPauses tries Pause on a server, and on one of its sessions.
func checkPauses(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	connect := func() net.Conn {
		c, err := net.Dial("tcp", s.Addr())
		noErr(t, err)
		return c
	}
	refusesTLS := func(c net.Conn) error { // it answers N to an SSLRequest
		noErr(t, c.SetDeadline(time.Now().Add(100*time.Millisecond)))
		_, err := c.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47})
		noErr(t, err)
		_, err = c.Read(make([]byte, 1))
		return err
	}
	noErr(t, s.Pause())
	c := connect()
	defer c.Close()
	if err := refusesTLS(c); err == nil {
		t.Error("it answers while it is paused")
	}
	noErr(t, s.Resume())
	mustAnswer(t, s, "SELECT 1", "1")
	asking := make(chan error, 1)
	go func() {
		_, err := s.Ask("SET application_name = 'sleeper'; SELECT pg_sleep(30)")
		asking <- err
	}()
	pid := 0
	for began := time.Now(); pid == 0; time.Sleep(10 * time.Millisecond) {
		text, err := s.Ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'sleeper' AND " +
			"wait_event = 'PgSleep'")
		noErr(t, err)
		if _, err := fmt.Sscan(text, &pid); err != nil && time.Since(began) > postgresserver.Patience {
			t.Fatal("the session is not there")
		}
	}
	noErr(t, s.PauseBackend(pid))
	if n, err := s.TerminateBackends("application_name = 'sleeper'"); n != 1 || err != nil {
		t.Errorf("told %d sessions to end, %v", n, err)
	}
	mustAnswer(t, s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sleeper'", "1")
	noErr(t, s.ResumeBackend(pid))
	if err := <-asking; err == nil || !strings.Contains(err.Error(), "terminating") {
		t.Errorf("a session that was ended says %v", err)
	}
	if s.PauseBackend(os.Getpid()) == nil {
		t.Error("something else was paused")
	}
}

func TestStandby(t *testing.T) {
	t.Parallel()
	primary := postgresserver.ForTest(t, postgresserver.Config{})
	standby := postgresserver.StandbyForTest(t, primary, postgresserver.Config{TCP: true})
	mustAnswer(t, standby, "SELECT pg_is_in_recovery()", "t")
	mustAnswer(t, primary, "CREATE TABLE kept (n int); CREATE UNLOGGED TABLE quick (n int); INSERT INTO kept VALUES "+
		"(1); INSERT INTO quick VALUES (1)", "")
	noErr(t, standby.AwaitFollows(primary))
	mustAnswer(t, standby, "SELECT count(*) FROM kept", "1")
	noErr(t, primary.Kill())
	noErr(t, standby.Promote())
	mustAnswer(t, standby, "INSERT INTO kept VALUES (2); SELECT (SELECT count(*) FROM kept), "+
		"(SELECT count(*) FROM quick)", "2|0")
}

func TestBouncer(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{})
	b := postgresserver.BouncerForTest(t, s)
	c, err := net.Dial("tcp", b.Addr())
	noErr(t, err)
	defer c.Close()
	noErr(t, c.SetDeadline(time.Now().Add(postgresserver.Patience)))
	// A connection like that of a driver: the length, version 3.0, and the parameters.
	who := "user\x00somebody\x00database\x00postgres\x00\x00"
	_, err = io.WriteString(c, "\x00\x00\x00"+string(rune(8+len(who)))+"\x00\x03\x00\x00"+who)
	noErr(t, err)
	answer := make([]byte, 1)
	if _, err := io.ReadFull(c, answer); err != nil || answer[0] != 'R' {
		t.Fatalf("it answers %q, %v, and not that the session may begin\n%s", answer, err, b.Log())
	}
	noErr(t, b.Close())
	if _, err := net.Dial("tcp", b.Addr()); err == nil {
		t.Error("it listens after Close")
	}
	noErr(t, b.Close())
}
