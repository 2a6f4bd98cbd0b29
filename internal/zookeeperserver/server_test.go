package zookeeperserver

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestServerComesBackWithItsData(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	role, err := s.Role()
	if err != nil || role != "standalone" {
		t.Errorf("its role is %q, %v", role, err)
	}
	id := connect(t, s, 5*time.Second)
	noErr(t, s.Pause())
	if s.Up() {
		t.Error("it is up while it is paused")
	}
	if said, err := s.Word("ruok"); err == nil {
		t.Errorf("while it is paused it says %q", said)
	}
	noErr(t, s.Resume())
	if said, err := s.Word("ruok"); err != nil || said != "imok" {
		t.Errorf("after the pause it says %q, %v", said, err)
	}
	if err := s.Restart(); err == nil {
		t.Error("it was started while it runs")
	}
	s.Kill()
	if s.PID() != 0 || s.Up() {
		t.Error("it runs after Kill")
	}
	if err := s.Pause(); err == nil {
		t.Error("it was paused while it does not run")
	}
	noErr(t, s.Restart())
	noErr(t, s.EndSession(id)) // it was there before
	noErr(t, s.Close())
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
	noErr(t, s.Close())
	if err := s.Restart(); err == nil {
		t.Error("it was started after Close")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{
		Tick:       300 * time.Millisecond,
		MaxSession: 7 * time.Second,
		Lines:      []string{"4lw.commands.whitelist=srvr,conf", "maxClientCnxns=17"},
	})
	conf, err := s.Word("conf")
	noErr(t, err)
	for _, line := range []string{
		"tickTime=300", "maxSessionTimeout=7000", "minSessionTimeout=600", "maxClientCnxns=17",
	} {
		if !strings.Contains(conf, line+"\n") {
			t.Errorf("conf has no %s: %s", line, conf)
		}
	}
	if said, err := s.Word("mntr"); err != nil || !strings.Contains(said, "whitelist") {
		t.Errorf("it answers mntr with %.40q, %v", said, err)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{}).Close() // skips the test if there is no ZooKeeper
	s, err := Start(Config{Lines: []string{"tickTime=never"}})
	if err == nil {
		s.Close()
		t.Fatal("it was started")
	}
	if !strings.Contains(err.Error(), "never") {
		t.Errorf("the error does not tell what its log says: %v", err)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
