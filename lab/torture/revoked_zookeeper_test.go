package torture

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// A client whose rights to the nodes are revoked while it holds and waits loses its lease at the
// deadline at the latest, learns why nothing is granted any more, and does not flood the server
// with requests.
func TestZooKeeperRightsAreTakenAway(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	s := zookeeperserver.ForTest(t, fastTicks)
	as := func() client {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		e, err := zookeeper.New(ctx, []string{s.Addr()}, zookeeper.WithSessionTimeout(10*time.Second),
			zookeeper.WithAuth("worker", "geheim"))
		noErr(t, err)
		c := newClient(e, answer)
		t.Cleanup(func() {
			_ = c.Close() // errors about leases do not matter here
			_ = e.Close()
		})
		return c
	}
	a := as()
	b := as()
	l := lock(t, a.Mutex("a", leasehold.TTL(ttl)))
	held := l.Context()
	waited := make(chan error, 1)
	go func() {
		_, err := b.Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
		waited <- err
	}()
	await(t, "one waits", func() bool {
		page, err := a.ops.Inspect(t.Context(), "a")
		return err == nil && len(page) == 1 && page[0].Waiting == 1
	})
	superuser, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	noErr(t, err)
	defer superuser.Close()
	noErr(t, superuser.AddAuth("digest", []byte("worker:geheim")))
	noErr(t, superuser.AddAuth("digest", []byte("admin:another password")))
	var close func(node string)
	close = func(node string) {
		children, _, err := superuser.Children(node)
		noErr(t, err)
		for _, child := range children {
			close(node + "/" + child)
		}
		_, err = superuser.SetACL(node, zk.DigestACL(zk.PermAll, "admin", "another password"), -1)
		noErr(t, err)
	}
	close(zookeeper.DefaultPrefix)
	before, began := packetsOf(t, s), time.Now()
	<-held.Done()
	if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(held), leasehold.ErrLost) {
		t.Errorf("the context ended %v after the deadline: %v", late, context.Cause(held))
	}
	took := time.Since(began).Seconds()
	if n := packetsOf(t, s) - before; n/took > 100 { // includes pings, and those of the administrator
		t.Errorf("%.0f requests in %.1f s", n, took)
	}
	_, err = a.Mutex("other", leasehold.TTL(ttl)).TryLock(t.Context())
	for who, err := range map[string]error{"who asks anew": err, "who waited": <-waited} {
		if !errors.Is(err, leasehold.ErrUnavailable) || strings.Contains(fmt.Sprint(err), "geheim") ||
			!strings.Contains(fmt.Sprint(err), "lacks the right") {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// packetsOf returns how many packets a server has received.
func packetsOf(t *testing.T, s *zookeeperserver.Server) float64 {
	t.Helper()
	text, err := s.Word("mntr")
	noErr(t, err)
	_, after, found := strings.Cut(text, "zk_packets_received\t")
	if !found {
		t.Fatalf("the server does not say how many packets it got: %s", text)
	}
	number, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseFloat(number, 64)
	noErr(t, err)
	return n
}
