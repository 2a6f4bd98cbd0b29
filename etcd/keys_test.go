package etcd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// keysEverUsed returns all keys of a name that ever existed, in the order in which they were first created.
func keysEverUsed(t *testing.T, c *clientv3.Client, k driver.Key) (used []string) {
	t.Helper()
	path := etcd.DefaultPrefix + k.Kind.String() + "/" + k.Name + "\x00"
	now, err := c.Get(t.Context(), "any")
	must(t, err)
	// A watch learns up to which revision it is complete when it asks, or when it receives its own write.
	_, err = c.Put(t.Context(), path, "the end")
	must(t, err)
	_, err = c.Delete(t.Context(), path)
	must(t, err)
	for r := range c.Watch(t.Context(), path, clientv3.WithPrefix(), clientv3.WithRev(1), clientv3.WithFilterDelete()) {
		must(t, r.Err())
		for _, ev := range r.Events {
			switch key := string(ev.Kv.Key); {
			case ev.Kv.ModRevision > now.Header.Revision:
				return used
			case key != path && !slices.Contains(used, key):
				used = append(used, key)
			}
		}
	}
	t.Fatal("the watch has ended")
	return nil
}

// engineWithoutTimeouts opens an engine whose requests are answered in time however busy the machine is: an engine that
// gives up a request changes its keys.
func engineWithoutTimeouts(t *testing.T, s *etcdserver.Server) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open("etcd://" + s.Addr() + "?timeout=2m")
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// However often a name is used, it never has more keys than it had owners at the same time: a server remembers each key
// that ever existed until its history is compacted, and goes through all those of the name with each request.
func TestFewKeysForManyUses(t *testing.T) {
	t.Parallel()
	const often, owners = 100, 5
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b := engineWithoutTimeouts(t, s), engineWithoutTimeouts(t, s)
	wanted := func() driver.Request {
		r := newRequest("name")
		r.TTL = 10 * time.Minute // so that its session lasts for the whole test
		return r
	}
	take := func(e *etcd.Engine) driver.Hold {
		r := wanted()
		g, err := e.Take(t.Context(), r)
		must(t, err)
		return driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}
	}
	release := func(e *etcd.Engine, h driver.Hold) { must(t, e.Release(t.Context(), driver.Release{Hold: h})) }
	for _, e := range []*etcd.Engine{a, b} {
		for range often {
			release(e, take(e))
		}
	}
	if used := keysEverUsed(t, client, wanted().Key); len(used) != 2 {
		t.Errorf("two engines have used %d keys for one owner at a time: %q", len(used), used)
	}
	for range 4 { // with waiters
		first := take(a)
		var behind []driver.Request
		for range owners - 1 {
			r := wanted()
			r.Join = true
			if _, err := a.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
				t.Fatalf("Take of what is held: %v, want ErrHeld", err)
			}
			behind = append(behind, r)
		}
		release(a, first)
		for _, r := range behind {
			g, err := a.Wait(t.Context(), r)
			must(t, err)
			release(a, driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token})
		}
	}
	if used := keysEverUsed(t, client, wanted().Key); len(used) != 1+owners {
		t.Errorf("two engines have used %d keys for up to %d owners: %q", len(used), owners, used)
	}
	for _, key := range keysEverUsed(t, client, wanted().Key) {
		if len(key) > len(etcd.DefaultPrefix)+40 {
			t.Errorf("the key is %q", key)
		}
	}
}

// The secret of an owner is not in the cluster.
func TestSecretsStayInTheProcess(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	r := newRequest("name")
	mustTake(t, e, r)
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix())
	must(t, err)
	if len(all.Kvs) != 2 || strings.Contains(fmt.Sprintf("%q", all.Kvs), r.Owner) { // the lock and the session
		t.Errorf("the cluster has %q", all.Kvs)
	}
}

// An owner that asks through another engine, which uses other keys, is found by its first entry and gets no second one.
func TestOwnerHasOneEntryOnAllEngines(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	for name, mode := range map[string]driver.Mode{"exclusive": driver.Exclusive, "shared": driver.Shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
			r := newRequest(name)
			r.Mode, r.Join = mode, true
			g := mustTake(t, a, r)
			for range 2 {
				if again := mustTake(t, b, r); again.Token != g.Token {
					t.Errorf("token %d, and by way of another engine %d", g.Token, again.Token)
				}
			}
			st, err := a.List(t.Context(), driver.Query{Name: name, Queue: true})
			must(t, err)
			if len(st) != 1 || len(st[0].Holders) != 1 || st[0].Waiting != 0 {
				t.Errorf("listed %+v", st)
			}
			mustRenew(t, b, r)
			mustRenew(t, a, r)
			h := holdOf(r)
			h.Token = g.Token
			must(t, a.Release(t.Context(), driver.Release{Hold: h}))
			mustBeLost(t, b, r)
			next := newRequest(name)
			if _, err := b.Take(t.Context(), next); err != nil {
				t.Errorf("Take of what was released: %v", err)
			}
			if err := b.Release(t.Context(), driver.Release{Hold: h}); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("Release once more: %v", err)
			}
			mustRenew(t, b, next)
		})
	}
}

// An entry on a key that an engine is about to use is neither overwritten nor taken for its own.
func TestForeignEntryOnOwnKey(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			e := engineOn(t, s.Addr())
			r := newRequest("name")
			r.Kind, r.Size = kind, 3
			mustTake(t, e, r)
			mustRelease(t, e, r)
			key := keysEverUsed(t, client, r.Key)[0]
			lease, err := client.Grant(t.Context(), 60)
			must(t, err)
			const foreign = "4 60000 1 3 another " // without an owner, and shared
			put, err := client.Put(t.Context(), key, foreign, clientv3.WithLease(lease.ID))
			must(t, err)
			r = newRequest("name")
			r.Kind, r.Size, r.Mode = kind, 3, driver.Exclusive
			if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
				t.Errorf("Take: %v, want ErrHeld", err)
			}
			w := joinQueue(t, e, r)
			time.Sleep(50 * time.Millisecond)
			w.mustWait()
			there, err := client.Get(t.Context(), key)
			must(t, err)
			if len(there.Kvs) != 1 || string(there.Kvs[0].Value) != foreign ||
				there.Kvs[0].ModRevision != put.Header.Revision {
				t.Errorf("the key has changed: %v", there.Kvs)
			}
			_, err = client.Delete(t.Context(), key)
			must(t, err)
			w.mustBeGranted(uint64(put.Header.Revision))
		})
	}
}
