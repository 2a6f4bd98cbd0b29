package zookeeper

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// leaksOf returns the leaks of the names of the test.
func leaksOf(t *testing.T, e *Engine, prefix string) (all []driver.Leak) {
	t.Helper()
	searched := 0
	q := driver.Query{Prefix: prefix, Progress: func(n int) { searched = n }}
	if err := e.Leaks(t.Context(), q, func(l driver.Leak) bool { all = append(all, l); return true }); err != nil {
		t.Fatal(err)
	}
	if searched == 0 {
		t.Error("it does not tell how it goes on")
	}
	return all
}

// A process that ends right after it has released a contended name, as a command does, leaves nothing behind.
func TestCloseLeavesNoNames(t *testing.T) {
	t.Parallel()
	s := server(t)
	for moment, await := range map[string]func(e *Engine){
		"at once": func(*Engine) {},
		"while it looks after the name": func(e *Engine) {
			eventually(t, "it does", func() bool { return e.emptyNames.Len() == 0 })
		},
	} {
		first, second, third := openAt(t, s), openAt(t, s), openAt(t, s)
		r := lock(t, "a")
		mustTake(t, first, r)
		next := join(t, second, lock(t, "a"))
		done := waitFor(t.Context(), second, next)
		mustRelease(t, first, r)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if w := <-done; w.err != nil {
			t.Fatal(w.err)
		}
		mustRelease(t, second, next)
		await(second)
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if stat, err := third.client.exists(t.Context(), third.nameNode(r.Key)); err != nil || stat != nil {
			t.Errorf("closed %s: the node of the name is %+v, %v, want none", moment, stat, err)
		}
	}
}

// What a process leaves behind that dies at the wrong moment is found and removed, once it is certain that nobody else
// will remove it, and nothing else is.
func TestRemainsAreSwept(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	empty, reused, kept := lock(t, "empty"), lock(t, "reused"), lock(t, "kept")
	over, used := lock(t, "over"), lock(t, "used")
	used.Kind, over.Kind = driver.Semaphore, driver.Semaphore
	prefix := strings.TrimSuffix(empty.Name, "empty")
	mustTake(t, e, used)
	mustTake(t, e, kept)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(kept), Keep: time.Minute}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	leave := func(path string, r record) {
		t.Helper()
		if _, err := e.client.conn.Create(path, r.bytes(), 0, e.acl); err != nil {
			t.Fatal(err)
		}
	}
	leave(e.nameNode(empty.Key), record{})
	leave(e.nameNode(reused.Key), record{})
	leave(e.nameNode(over.Key), record{})
	overNode, keptNode := keptMark+namePrefix(permits, 1, 1, "id", "nonce")+"0000000001", nodes(t, e, kept.Key)[0].name
	leave(e.nameNode(over.Key)+"/"+overNode, record{TTL: 100})
	if all := leaksOf(t, e, prefix); len(all) != 0 && time.Since(began) < leakAge {
		t.Errorf("at first there is %+v", all)
	}
	var all []driver.Leak
	eventually(t, "something is left behind", func() bool {
		time.Sleep(100 * time.Millisecond)
		all = leaksOf(t, e, prefix)
		return len(all) == 3
	})
	if passed := time.Since(began); passed < leakAge {
		t.Errorf("it was found after %v", passed)
	}
	want := []driver.Leak{
		{Key: empty.Key, Sort: driver.Remains, Count: 1, Mark: all[0].Mark},
		{Key: reused.Key, Sort: driver.Remains, Count: 1, Mark: all[1].Mark},
		{Key: over.Key, Sort: driver.Remains, Count: 1, Mark: overNode},
	}
	if !slices.Equal(all, want) {
		t.Fatalf("there is %+v, want the empty nodes and the kept entry", all)
	}
	err := e.Sweep(t.Context(), driver.Leak{Key: kept.Key, Sort: driver.Remains, Mark: keptNode})
	if !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Sweep of what is kept: %v", err)
	}

	// Somebody else takes the name, and leaves an empty node, too: that is another leak.
	mustTake(t, e, reused)
	node, _ := e.owned.find(ownerKey{reused.Key, ownerID(reused.Owner)})
	for range 2 {
		if err := e.Sweep(t.Context(), all[1]); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of what was used again: %v", err)
		}
		if err := e.client.remove(t.Context(), node.path()); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Fatal(err)
		}
	}
	all = slices.Delete(all, 1, 2)
	for _, outcome := range []error{nil, driver.ErrNotHeld} {
		for _, l := range all {
			if err := e.Sweep(t.Context(), l); !errors.Is(err, outcome) {
				t.Errorf("Sweep of %+v: %v, want %v", l, err, outcome)
			}
		}
	}
	for _, k := range []driver.Key{empty.Key, over.Key} {
		if stat, err := e.client.exists(t.Context(), e.nameNode(k)); err != nil || stat != nil {
			t.Errorf("the node of %s is there: %v", k.Name, err)
		}
	}
	if err := renewOne(t, e, used); err != nil {
		t.Errorf("Renew of what was in use: %v", err)
	}
	if len(nodes(t, e, kept.Key)) != 1 {
		t.Error("what is kept is gone")
	}
}

// A user that may only read can search for leaks, and is told what it may not do.
func TestLeaksWithoutRights(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t), WithPrefix("/read-only-"+rand.Text()))
	if err := e.createParents(t.Context(), e.kindNode(driver.Lock)); err != nil {
		t.Fatal(err)
	}
	k := lock(t, "a").Key
	if err := e.client.create(t.Context(), e.nameNode(k), e.acl); err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.conn.SetACL(e.kindNode(driver.Lock), zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	err := e.Leaks(t.Context(), driver.Query{}, func(driver.Leak) bool { return true })
	swept := e.Sweep(t.Context(), driver.Leak{Key: k, Sort: driver.Remains, Mark: "0.0"})
	if err != nil || !driver.IsPermanent(swept) {
		t.Errorf("Leaks: %v; Sweep: %v", err, swept)
	}
}
