package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// guardedFor returns the options of tests about the guard, with a longest ttl.
func guardedFor(longest time.Duration) []redlock.Option {
	return []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(longest))}
}

// requestBy is a request for a name by an owner.
func requestBy(owner, name string, ttl time.Duration) driver.Request {
	r := request(name)
	r.Owner, r.TTL = owner+" of "+name, ttl
	return r
}

// wantOtherListError checks that an error, or a vote in it, is an OtherListError, and permanent.
func wantOtherListError(t *testing.T, err error) {
	t.Helper()
	other, ok := errors.AsType[*redlock.OtherListError](err)
	if failed, is := errors.AsType[*redlock.Error](err); is {
		for _, v := range failed.Votes {
			if o, is := errors.AsType[*redlock.OtherListError](v.Err); is {
				other, ok = o, driver.IsPermanent(err)
			}
		}
	}
	if !ok || !strings.Contains(other.Error(), "--change-nodes") {
		t.Errorf("%v, want an OtherListError that says what to do, and is permanent", err)
	}
}

// Two programs name five servers each, and have one of them in common: each could have a majority that the
// other knows nothing of.
func TestListsOfServersThatDiffer(t *testing.T) {
	t.Parallel()
	const ttl = 20 * time.Second
	at := addresses(servers(t, 9))
	makeVote(t, at[:5], guardedFor(ttl))
	first := openGuarded(t, at[:5], guardedFor(ttl)...)
	if _, err := first.Take(t.Context(), requestBy("first", "name", ttl)); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at ...string) {
		t.Helper()
		e, err := redlock.New(t.Context(), clients(t, at), guardedFor(ttl)...)
		if err == nil {
			if _, err := e.OpenNow(t.Context(), "a test"); err == nil {
				t.Errorf("%s: the servers are opened", what)
			}
			if _, err := e.Take(t.Context(), requestBy("second", "name", ttl)); err == nil {
				t.Errorf("%s: two hold the lock", what)
			}
			e.Close()
		}
		wantOtherListError(t, err)
	}
	refused("one server in common", at[4:]...)
	refused("two of five in common", at[3:8]...)
	refused("fewer servers", at[:3]...)
	refused("more servers", at[:7]...)

	// One server that does not belong to the list has no vote; the others have.
	e := openGuarded(t, append(slices.Clone(at[:4]), at[8]), guardedFor(ttl)...)
	if _, err := e.Take(t.Context(), requestBy("third", "other", ttl)); err != nil {
		t.Error(err)
	}
}

// A server that does not answer at first says later that it belongs to another list. From then on this list
// grants nothing to anybody.
func TestOtherListIsNoticedLate(t *testing.T) {
	t.Parallel()
	const ttl = 20 * time.Second
	s := servers(t, 5)
	at := addresses(s)
	makeVote(t, at[:3], guardedFor(ttl))
	p := redisserver.ProxyForTest(t, at[2])
	p.Refuse()
	second := openGuarded(t, []string{p.Addr(), at[3], at[4]}, guardedFor(ttl)...)
	if _, err := second.OpenNow(t.Context(), "a test"); err == nil {
		t.Error("no error says that a server could not be opened")
	}
	held := requestBy("second", "name", ttl)
	if _, err := second.Take(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if err := p.Allow(); err != nil {
		t.Fatal(err)
	}
	await(t, "the server is initialized", func() bool {
		_, err := second.Take(t.Context(), requestBy("second", "other", ttl))
		if err == nil {
			_ = second.Release(t.Context(),
				driver.Release{Hold: driver.Hold{Key: request("other").Key, Owner: "second of other"}})
			return false
		}
		wantOtherListError(t, err)
		return true
	})
	if err := renewWithTimeout(t, second, held); err == nil || driver.IsNo(err) {
		t.Errorf("a lease of that list is renewed: %v", err)
	}
}

func renewWithTimeout(t *testing.T, e *redlock.Engine, r driver.Request) (outcome error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	outcome = errors.New("nothing was reported")
	e.Renew(ctx, []driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}},
		func(_ int, err error) { outcome = err })
	return outcome
}

// The same servers in another order, and by other addresses, are the same list. A server that comes back
// empty is put back into it.
func TestSameListWrittenDifferently(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	s := servers(t, 3)
	at := addresses(s)
	makeVote(t, at, guardedFor(ttl))
	var others []string
	for _, a := range at {
		others = append(others, strings.Replace(a, "127.0.0.1", "localhost", 1))
	}
	slices.Reverse(others)
	e := openGuarded(t, others, guardedFor(ttl)...)
	if _, err := e.Take(t.Context(), requestBy("first", "name", ttl)); err != nil {
		t.Fatal(err)
	}
	s[0].Kill()
	if err := s[0].Restart(); err != nil {
		t.Fatal(err)
	}
	back := openGuarded(t, []string{at[1], at[0], at[2]}, guardedFor(ttl)...)
	await(t, "the server that came back votes again", func() bool {
		_, _ = back.Take(t.Context(), requestBy("second", "any", ttl)) // which puts the server back
		votes, err := back.Votes(t.Context(), request("any").Key)
		return err == nil &&
			!slices.ContainsFunc(votes, func(v driver.Vote) bool { return v.Err != nil || v.Closed > 0 })
	})
	s[1].Kill()
	await(t, "the others are a majority without it", func() bool {
		_, err := back.Take(t.Context(), requestBy("second", "other", ttl))
		return err == nil
	})
}

// One of three servers is replaced by one at another address, while a program goes on with the old list. That
// program is refused from then on, and the new list grants nothing before the leases of that program have
// expired.
func TestChangeOfNodes(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := servers(t, 5)
	at := addresses(s)
	before, after := at[:3], []string{at[3], at[0], at[1]}
	makeVote(t, before, guardedFor(ttl))
	old := openGuarded(t, before, guardedFor(ttl)...)
	held := requestBy("old", "name", ttl)
	ends := time.Now().Add(ttl)
	if _, err := old.Take(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if _, err := openToChange(t, at[2:]).ChangeNodes(t.Context()); err == nil || !driver.IsPermanent(err) {
		t.Errorf("a list is changed although others of the old one are a majority: %v", err)
	}
	if renewWithTimeout(t, old, held) == nil {
		ends = time.Now().Add(ttl)
	}
	opens, err := openToChange(t, after).ChangeNodes(t.Context())
	if err != nil || time.Until(opens) > 2*ttl {
		t.Fatalf("the new list opens at %v: %v", opens, err)
	}
	for began := time.Now(); ; { // the program may not notice the change for a second
		sent := time.Now()
		if renewWithTimeout(t, old, held) != nil {
			break
		}
		if ends = sent.Add(ttl); sent.Sub(began) > patience {
			t.Fatal("leases of the old list are renewed")
		}
	}
	_, err = old.Take(t.Context(), requestBy("old", "other", ttl))
	wantOtherListError(t, err)
	e := openGuarded(t, after, guardedFor(ttl)...)
	await(t, "the new list grants", func() bool {
		_, err := e.Take(t.Context(), requestBy("new", "name", ttl))
		if err == nil && time.Now().Before(ends) {
			t.Fatal("two hold the lock")
		}
		return err == nil
	})
	if _, err := redlock.New(t.Context(), clients(t, before), guardedFor(ttl)...); err == nil {
		t.Error("a program that starts with the old list is not refused")
	} else {
		wantOtherListError(t, err)
	}
}

// openToChange opens an engine to change the list.
func openToChange(t *testing.T, at []string) *redlock.Engine {
	t.Helper()
	e, err := redlock.OpenToExamine("redlock://" + strings.Join(at, ",") + "?node_timeout=5s&max_ttl=3s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}
