package zookeeperserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEnsembleElects(t *testing.T) {
	t.Parallel()
	e := EnsembleForTest(t, 3, Config{})
	if len(strings.Split(e.List(), ",")) != 3 {
		t.Errorf("the addresses are %s", e.List())
	}
	first, err := e.AwaitLeader()
	noErr(t, err)
	followers, err := e.Followers()
	noErr(t, err)
	if len(followers) != 2 || slices.Contains(followers, first) {
		t.Fatalf("%d servers follow", len(followers))
	}
	id := connect(t, followers[0], 20*time.Second)
	first.Kill()
	second, err := e.AwaitLeader()
	noErr(t, err)
	if second == first {
		t.Fatal("the leader is one that was killed")
	}
	noErr(t, first.Restart())
	noErr(t, second.Pause())
	third, err := e.AwaitLeader()
	noErr(t, err)
	if third == second {
		t.Fatal("the leader is one that is paused")
	}
	noErr(t, second.Resume())
	noErr(t, second.AwaitServing())
	e.Kill()
	for _, s := range e.Servers {
		if s.PID() != 0 {
			t.Error("a server runs after Kill")
		}
	}
	breakEpoch(t, e.Servers[0])
	noErr(t, e.Restart())
	noErr(t, e.Servers[0].EndSession(id))
}

// breakEpoch leaves the files of a server as if it had been killed while it wrote the number of a new leader.
func breakEpoch(t *testing.T, s *Server) {
	t.Helper()
	dir := filepath.Join(s.Dir(), dataFolder, "version-2")
	noErr(t, os.WriteFile(filepath.Join(dir, currentEpoch), []byte("0"), 0o600))
	noErr(t, os.WriteFile(filepath.Join(dir, epochTemporary), nil, 0o600))
}
