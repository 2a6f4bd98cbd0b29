package zookeeper_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// wantFound waits until an examination has exactly these findings, and returns its servers. On a busy machine a server
// may be silent for a while, or without a leader.
func wantFound(t *testing.T, e *zookeeper.Engine, want ...string) []driver.Server {
	t.Helper()
	return wantServers(t, e, func(driver.Server) bool { return true }, want...)
}

// wantServers is wantFound for servers that must all be good.
func wantServers(t *testing.T, e *zookeeper.Engine, good func(driver.Server) bool, want ...string) []driver.Server {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	for began := time.Now(); ; {
		x, err := e.Examine(t.Context())
		var found []string
		for _, f := range x.Findings {
			if f.Text == "" || f.Fix == "" {
				t.Errorf("nothing is said of %+v", f)
			}
			found = append(found, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server)))
		}
		slices.Sort(found)
		bad := slices.IndexFunc(x.Servers, func(p driver.Server) bool { return !good(p) })
		switch {
		case err == nil && slices.Equal(found, want) && bad < 0:
			return x.Servers
		case time.Since(began) > waitLimit && bad >= 0:
			t.Fatalf("the server is %+v", x.Servers[bad])
		case time.Since(began) > waitLimit:
			t.Fatalf("found\n  %s\nwant\n  %s\n%v", strings.Join(found, "\n  "), strings.Join(want, "\n  "), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Nothing is found in a healthy ensemble, and each server is listed with its figures. Then one failure after the other
// is found.
func TestExamineAnEnsemble(t *testing.T) {
	t.Parallel()
	e := zookeeperserver.EnsembleForTest(t, 3, zookeeperserver.Config{Tick: fastConfig.Tick})
	engine := engineOn(t, 20*time.Second, e.Addrs()...)
	servers := wantServers(t, engine, func(p driver.Server) bool {
		i := slices.Index(e.Addrs(), p.Name)
		if i < 0 {
			t.Fatalf("the server is %+v, which is none of %v", p, e.Addrs())
		}
		role, err := e.Servers[i].Role()
		return err == nil && p.Role == role && strings.HasPrefix(p.Version, "3.") && p.Uptime >= 0 && p.RoundTrip > 0 &&
			p.Votes && p.Err == nil
	})
	for i, p := range servers {
		if p.Name != e.Addrs()[i] {
			t.Errorf("server %d is %s, want %s", i, p.Name, e.Addrs()[i])
		}
	}
	wantFound(t, engineOn(t, 20*time.Second, e.Addrs()[:2]...), "note servers-not-named")
	wantFound(t, engineOn(t, 2*time.Minute, e.Addrs()...), "note session-timeout")

	own := serverOf(t, engine, e.Servers)
	down := e.Servers[0]
	if down == own {
		down = e.Servers[1]
	}
	if err := down.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.AwaitLeader(); err != nil {
		t.Fatal(err)
	}
	wantServers(t, engine, func(p driver.Server) bool {
		return (p.Name == down.Addr()) == errors.Is(p.Err, driver.ErrSilent) && p.Votes == (p.Err == nil)
	})
	down.Kill()
	last := own
	for _, s := range e.Servers {
		if s != own && s != down {
			s.Kill()
		}
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := last.Role(); err != nil {
			break // it has noticed that it is alone
		}
		if time.Since(began) > waitLimit {
			t.Fatal("a server goes on without a majority")
		}
	}
	wantServers(t, engine, func(p driver.Server) bool { return p.Err != nil && p.Votes }, "critical no-leader")
	last.Kill()
	if x, err := engine.Examine(t.Context()); err == nil || !strings.Contains(err.Error(), last.Addr()) {
		t.Errorf("of servers that are all down it says %+v, %v", x, err)
	}
}

// Two servers that know nothing of each other are not an ensemble. One with two names is. What is wrong with each of
// them is found.
func TestExamineServersThatAreApart(t *testing.T) {
	t.Parallel()
	a := zookeeperserver.ForTest(t, zookeeperserver.Config{Unsynced: true})
	b := zookeeperserver.ForTest(t, zookeeperserver.Config{Lines: []string{"4lw.commands.whitelist=srvr"}})
	alone := engineOn(t, 20*time.Second, a.Addr())
	for i := range 10 { // so that they are at different transactions
		take(t, alone, newRequest(alone, fmt.Sprint("name ", i)))
	}
	const few = "note too-few-members"
	off, dumb := "warning sync-off "+a.Addr(), "note words-not-allowed "+b.Addr()
	wantFound(t, alone, few, off)
	wantFound(t, engineOn(t, 20*time.Second, b.Addr()), few, dumb)
	wantFound(t, engineOn(t, 20*time.Second, a.Addr(), b.Addr()), few, off, dumb,
		"critical different-clusters "+a.Addr(), "critical different-clusters "+b.Addr())
	other := strings.Replace(a.Addr(), "127.0.0.1", "localhost", 1)
	for _, p := range wantFound(t, engineOn(t, 20*time.Second, a.Addr(), other), few, off, "warning sync-off "+other) {
		if !p.Votes || p.Err != nil || p.RoundTrip <= 0 || p.Role != "standalone" {
			t.Errorf("the server is %+v", p)
		}
	}

	// An examination ends with its context, however silent servers are.
	if err := a.Pause(); err != nil {
		t.Fatal(err)
	}
	err := within(t, 500*time.Millisecond, func(ctx context.Context) error {
		_, err := alone.Examine(ctx)
		return err
	})
	if !errors.Is(err, driver.ErrSilent) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the only server is silent: %v", err)
	}
	if err := alone.Close(); err != nil {
		t.Error(err)
	}
	if _, err := alone.Examine(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("after Close: %v", err)
	}
}

// Missing rights are found, above the node of the locks and below it.
func TestExamineFindsMissingRights(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	conn, _, err := zk.Connect([]string{s.Addr()}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, c := range map[string]struct {
		rights  int32
		missing string
	}{
		"all":        {zk.PermAll, ""},
		"enough":     {zk.PermAll &^ zk.PermAdmin, ""},
		"no create":  {zk.PermAll &^ zk.PermCreate, "create"},
		"no delete":  {zk.PermAll &^ zk.PermDelete, "delete"},
		"no read":    {zk.PermAll &^ zk.PermRead, "read"},
		"none":       {zk.PermAdmin, "read or create or delete"},
		"no parents": {zk.PermAll &^ zk.PermCreate, "create"},
	} {
		prefix := "/rights-" + rand.Text()
		paths := []string{prefix, prefix + "/lock", prefix + "/semaphore"}
		if name == "no parents" {
			paths = paths[:1]
		}
		for _, path := range paths {
			if _, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range paths[len(paths)/2:] { // those in use
			if _, err := conn.SetACL(path, zk.WorldACL(c.rights), -1); err != nil {
				t.Fatal(err)
			}
		}
		e, err := zookeeper.New(t.Context(), []string{s.Addr()}, zookeeper.WithPrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		x, err := e.Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		var said []string
		for _, f := range x.Findings {
			if f.Code == "rights" || f.Code == "rights-spare" {
				said = append(said, f.Text)
			}
		}
		if (len(said) > 0) != (c.missing != "") ||
			len(said) > 0 && !strings.Contains(said[0], "may not "+c.missing+" nodes below "+prefix) {
			t.Errorf("%s: it says %q, want that the user may not %q", name, said, c.missing)
		}
		if left, _, err := conn.Children(prefix); err == nil && len(left) != len(paths)-1 {
			t.Errorf("%s: there are %q now", name, left)
		}
	}
}
