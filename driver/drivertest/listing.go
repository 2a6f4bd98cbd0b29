package drivertest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var listing = []check{
	{"NothingIsHeld", nothingIsHeld},
	{"ListShowsAHolder", listShowsAHolder},
	{"ListShowsReaders", listShowsReaders},
	{"ListShowsPermits", listShowsPermits},
	{"ListShowsALatch", listShowsALatch},
	{"ListCountsWaiters", listCountsWaiters},
	{"ListShowsTheQueue", listShowsTheQueue},
	{"ListForgetsTheExpired", listForgetsTheExpired},
	{"OwnersAreSecret", ownersAreSecret},
}

// list lists the names of this check.
func (e *env) list(engine driver.Engine, q driver.Query) []driver.Status {
	e.Helper()
	if q.Name == "" {
		q.Prefix = e.prefix + q.Prefix
	}
	page, err := engine.List(e.ctx, q)
	if err != nil {
		e.Fatalf("List: %v", err)
	}
	return page
}

// status lists one key, which must be there.
func (e *env) status(engine driver.Engine, k driver.Key) driver.Status {
	e.Helper()
	page := e.list(engine, driver.Query{Kind: k.Kind, Name: k.Name, Queue: true})
	if len(page) != 1 || page[0].Key != k {
		e.Fatalf("List of %s %q shows %+v, want one entry", k.Kind, k.Name, page)
	}
	return page[0]
}

// checkNothingListed checks that nothing is held or waited for under the prefix.
func (e *env) checkNothingListed(engine driver.Engine) {
	e.Helper()
	if page := e.list(engine, driver.Query{}); len(page) != 0 {
		e.Errorf("List shows %+v, want nothing", page)
	}
}

func nothingIsHeld(e *env) {
	a := e.open()
	e.checkNothingListed(a)
	e.checkFree(a, e.lock("name"))
	e.checkNothingListed(a)
}

func listShowsAHolder(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	r.Holder = "host:42 \"über\""
	g := e.take(a, r)
	st := e.status(b, r.Key)
	if len(st.Holders) != 1 || st.Waiting != 0 || st.Latch != nil {
		e.Fatalf("List shows %+v, want one holder", st)
	}
	h := st.Holders[0]
	if h.Token < g.Token || h.Token >= g.Token+uint64(max(1, g.Tokens)) {
		e.Errorf("listed token %d, want %d", h.Token, g.Token)
	}
	if h.Mode != driver.Exclusive || h.Weight != 1 || h.Holder != r.Holder {
		e.Errorf("listed holder %+v, want %s, weight 1, %q", h, driver.Exclusive, r.Holder)
	}
	if h.TTL <= 0 || h.TTL > r.TTL+time.Second {
		e.Errorf("listed TTL %v of a lease of %v", h.TTL, r.TTL)
	}
	if h.Age > e.long {
		e.Errorf("listed age %v of a fresh lock", h.Age)
	}
	e.release(a, r)
	e.checkNothingListed(b)
}

func listShowsReaders(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	var want []uint64
	for range 4 {
		want = append(want, e.take(a, e.reader("name")).Token)
	}
	st := e.status(b, e.lock("name").Key)
	var got []uint64
	for _, h := range st.Holders {
		got = append(got, h.Token)
		if h.Mode != driver.Shared {
			e.Errorf("listed a reader as %s", h.Mode)
		}
	}
	if !slices.Equal(got, want) {
		e.Errorf("listed readers %v, want %v, by token", got, want)
	}
}

func listShowsPermits(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	for weight := 1; weight <= 3; weight++ {
		e.take(a, e.permits("name", 6, weight))
	}
	st := e.status(b, e.permits("name", 6, 1).Key)
	if len(st.Holders) != 3 {
		e.Fatalf("listed holders %+v, want three", st.Holders)
	}
	for i, h := range st.Holders {
		if h.Weight != i+1 {
			e.Errorf("listed weight %d, want %d", h.Weight, i+1)
		}
	}
}

func listShowsALatch(e *env) {
	l := e.latcher()
	set := e.mustSet(l, e.latchSet(3))
	e.countDown(l, e.latchDown(), 2)
	st := e.status(e.open(), driver.Key{Kind: driver.Latch, Name: e.latchSet(1).Name})
	if st.Latch == nil || st.Latch.Count != 2 || st.Latch.Generation != set.Generation || len(st.Holders) != 0 {
		e.Errorf("listed %+v (latch %+v), want a count of 2", st, st.Latch)
	}
}

func listCountsWaiters(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first, second := e.join(a, e.lock("name")), e.join(b, e.lock("name"))
	if e.can.Fair {
		if st := e.status(b, r.Key); st.Waiting != 2 {
			e.Errorf("listed %d waiting, want 2", st.Waiting)
		}
	}
	first.leave()
	second.leave()
	e.eventually("no waiter is listed", func() bool { return e.status(b, r.Key).Waiting == 0 })
	e.release(a, r)
	e.checkNothingListed(b)
}

func listShowsTheQueue(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	for i := range 4 {
		w := e.lock("name")
		if e.can.Shared && i%2 == 1 {
			w = e.reader("name")
		}
		w.Holder = fmt.Sprint("waiter ", i)
		e.join(b, w)
	}
	st := e.status(a, r.Key)
	if len(st.Queue) != 4 || st.Waiting != 4 {
		e.Fatalf("listed queue %+v of %d, want four", st.Queue, st.Waiting)
	}
	for i, w := range st.Queue {
		if want := fmt.Sprint("waiter ", i); w.Holder != want || w.Weight != 1 {
			e.Errorf("place %d is %+v, want %q", i, w, want)
		}
		if e.can.Shared && (w.Mode == driver.Shared) != (i%2 == 1) {
			e.Errorf("place %d is listed as %s", i, w.Mode)
		}
	}
	if page := e.list(a, driver.Query{}); len(page) != 1 || page[0].Waiting != 4 || page[0].Queue != nil {
		e.Errorf("listed %+v, want four waiting, and no queue, which was not asked for", page)
	}
}

func listForgetsTheExpired(e *env) {
	a := e.open()
	r := e.withShortTTL(e.lock("name"))
	e.take(a, r)
	if e.can.Shared {
		e.take(a, e.withShortTTL(e.reader("readers")))
		e.take(a, e.reader("readers"))
	}
	if e.can.Semaphores {
		e.take(a, e.withShortTTL(e.permits("permits", 2, 1)))
	}
	if e.hasLatches {
		s := driver.LatchSet{Name: e.prefix + "latch", ID: rand.Text(), Count: 1, TTL: e.short}
		if set, err := a.(driver.Latcher).TrySet(e.ctx, s); !set || err != nil {
			e.Fatal(set, err)
		}
	}
	e.expireShortLeases()
	if !e.can.Shared {
		e.checkNothingListed(a)
		return
	}
	page := e.list(a, driver.Query{})
	if len(page) != 1 || len(page[0].Holders) != 1 {
		e.Errorf("listed %+v, want the one reader whose lease has not ended", page)
	}
}

func ownersAreSecret(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	owners := []string{r.Owner, w.request.Owner}
	if e.can.Semaphores {
		p := e.permits("permits", 2, 1)
		e.take(a, p)
		owners = append(owners, p.Owner)
	}
	if e.hasLatches {
		l, s, d := e.latcher(), e.latchSet(2), e.latchDown()
		e.mustSet(l, s)
		e.countDown(l, d, 1)
		owners = append(owners, s.ID, d.ID)
	}
	kept := e.lock("kept")
	e.take(a, kept)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(kept), Keep: e.long}); err != nil {
		e.Fatal(err)
	}
	owners = append(owners, kept.Owner)
	page := e.list(b, driver.Query{Queue: true})
	for _, st := range page {
		text := fmt.Sprintf("%+v %#v", st, st)
		for _, owner := range owners {
			if strings.Contains(text, owner) {
				e.Errorf("the listing of %s %q shows an owner", st.Kind, st.Name)
			}
		}
	}
	if len(page) == 0 {
		e.Error("nothing is listed")
	}
}
