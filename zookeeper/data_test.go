package zookeeper

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A transaction that arrives late stores nothing: its owner has released meanwhile, and somebody else has got the lock,
// or another one has stored data first.
func TestDataThatArrivesLate(t *testing.T) {
	t.Parallel()
	a, b := openAt(t, server(t)), openAt(t, server(t))
	take := func(e *Engine, owner, name string) (driver.Hold, uint64) {
		t.Helper()
		r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: owner, Size: 1, Weight: 1,
			TTL: 5 * time.Second, Tokens: 1}
		g, err := e.Take(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return driver.Hold{Key: r.Key, Owner: owner}, g.Token
	}
	dataOf := func(name string) string {
		t.Helper()
		d, err := b.Data(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return string(d.Value)
	}
	set := func(h driver.Hold, token, number uint64, value string) driver.DataSet {
		return driver.DataSet{Hold: h, Data: driver.Data{Value: []byte(value), Token: token, Number: number}}
	}
	for name, before := range map[string]string{t.Name() + " first": "", t.Name() + " later": "before"} {
		h, token := take(a, name+"-old", name)
		if before != "" {
			if err := a.SetData(t.Context(), set(h, token, 1, before)); err != nil {
				t.Fatal(err)
			}
		}
		own, err := a.findExclusive(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		_, version, err := a.readData(t.Context(), a.dataNode(name))
		if err != nil {
			t.Fatal(err)
		}
		if before == "" { // so that only the owner's entry can refuse what is late
			if err := a.createParents(t.Context(), a.dataParent()); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Release(t.Context(), driver.Release{Hold: h}); err != nil {
			t.Fatal(err)
		}
		next, nextToken := take(b, name+"-next", name)
		if done, err := a.storeData(t.Context(), set(h, token, 2, "late"), own, version); done || err != nil {
			t.Errorf("%s: late: %v, %v", name, done, err)
		}
		if got := dataOf(name); got != before {
			t.Errorf("%s: the data is %q, want %q", name, got, before)
		}
		own, err = b.findExclusive(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.SetData(t.Context(), set(next, nextToken, 2, "second")); err != nil {
			t.Fatal(err)
		}
		if done, err := b.storeData(t.Context(), set(next, nextToken, 1, "overtaken"), own, version); done ||
			err != nil {
			t.Errorf("%s: overtaken: %v, %v", name, done, err)
		}
		if got := dataOf(name); got != "second" {
			t.Errorf("%s: the data is %q, want the second", name, got)
		}
	}
}

// A lease that has expired stores nothing, although its entry could not be removed yet.
func TestDataOfAnExpiredLease(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	h := driver.Hold{Key: driver.Key{Kind: driver.Lock, Name: t.Name()}, Owner: "owner"}
	g, err := e.Take(t.Context(), driver.Request{
		Key: h.Key, Owner: h.Owner, Size: 1, Weight: 1, TTL: 5 * time.Second, Tokens: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	node, _ := e.owned.find(ownerKey{h.Key, ownerID(h.Owner)})
	e.owned.mu.Lock()
	node.end = time.Now()
	e.owned.mu.Unlock()
	if over, _ := e.beginExpiry(node); !over {
		t.Fatal("it has not expired")
	}
	err = e.SetData(t.Context(), driver.DataSet{
		Hold: h, Data: driver.Data{Value: []byte("late"), Token: g.Token, Number: 1},
	})
	if !errors.Is(err, driver.ErrNotHeld) {
		t.Error(err)
	}
}
