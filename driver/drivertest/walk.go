package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

var walk = []check{
	{"WalkTellsWhatListDoes", walkTellsWhatListDoes},
	{"WalkOfManyNames", walkOfManyNames},
	{"WalkWhileOthersComeAndGo", walkWhileOthersComeAndGo},
	{"WalkEndsWhenTold", walkEndsWhenTold},
	{"WalkEndsWithItsContext", walkEndsWithItsContext},
	{"WalkTellsHowFarItIs", walkTellsHowFarItIs},
}

// walker opens an engine that has to search for names.
func (e *env) walker() driver.Operator {
	e.Helper()
	e.needs(e.can.Walk, "Walk: List is as good")
	return driver.OperatorOf(e.open())
}

// walk collects what a walk reports about names of this check.
func (e *env) walk(w driver.Operator, q driver.Query) (all []driver.Status) {
	e.Helper()
	if q.Name == "" {
		q.Prefix = e.prefix + q.Prefix
	}
	err := w.Walk(e.ctx, q, func(piece []driver.Status) bool {
		if len(piece) == 0 {
			e.Error("Walk reported an empty piece")
		}
		all = append(all, piece...)
		return true
	})
	if err != nil {
		e.Fatalf("Walk: %v", err)
	}
	return all
}

// lasting returns what stays the same in a status while nothing happens to its name.
func lasting(all []driver.Status) (texts []string) {
	for _, s := range all {
		text := fmt.Sprintf("%s %q, %d waiting", s.Kind, s.Name, s.Waiting)
		for _, h := range s.Holders {
			text += fmt.Sprintf("; %d %s %d %q", h.Token, h.Mode, h.Weight, h.Holder)
		}
		for _, w := range s.Queue {
			text += fmt.Sprintf("; waits: %s %d %q", w.Mode, w.Weight, w.Holder)
		}
		if s.Latch != nil {
			text += fmt.Sprintf("; at %d of %d", s.Latch.Count, s.Latch.Generation)
		}
		texts = append(texts, text)
	}
	return texts
}

func walkTellsWhatListDoes(e *env) {
	w, a, b := e.walker(), e.open(), e.open()
	var owners []string
	take := func(r driver.Request) {
		e.take(a, r)
		owners = append(owners, r.Owner)
	}
	for _, n := range []string{"b", "a", "a/b", "B", "10", "ä", "a b", "a%", "a*", "a[b]", "a\\", "a?"} {
		take(e.lock(n))
		if e.can.Semaphores && n < "a0" {
			take(e.permits(n, 3, 2))
		}
	}
	if e.can.Shared {
		take(e.reader("readers"))
		take(e.reader("readers"))
	}
	if e.hasLatches {
		e.mustSet(e.latcher(), e.latchSet(3))
	}
	if e.can.Fair { // other engines do not count all waiters
		owners = append(owners, e.join(b, e.lock("a")).request.Owner)
	}
	for _, q := range []driver.Query{
		{},
		{Queue: true},
		{Limit: 2},
		{Kind: driver.Lock},
		{Kind: driver.Semaphore},
		{Kind: driver.Latch},
		{Prefix: "a"},
		{Prefix: "a", Kind: driver.Lock},
		{Prefix: "a*"},
		{Prefix: "a["},
		{Prefix: "a\\"},
		{Prefix: "x"},
		{After: driver.Key{Kind: driver.Lock, Name: e.prefix + "a"}},
		{After: driver.Key{Kind: driver.Lock, Name: e.prefix + "a0"}, Prefix: "a"},
		{After: driver.Key{Kind: driver.Semaphore, Name: e.prefix + "a"}},
		{After: driver.Key{Kind: driver.Latch, Name: e.prefix + "z"}},
		{Name: e.prefix + "a", Queue: true},
		{Name: e.prefix + "a", Kind: driver.Lock},
		{Name: e.prefix + "none"},
	} {
		got := e.walk(w, q)
		whole := q
		whole.Limit = 0
		if want := lasting(e.list(a, whole)); !slices.Equal(lasting(got), want) {
			e.Errorf("Walk with %+v reports\n\t%s\nand List\n\t%s", q, strings.Join(lasting(got), "\n\t"),
				strings.Join(want, "\n\t"))
		}
		text := fmt.Sprintf("%+v %#v", got, got)
		for _, owner := range owners {
			if strings.Contains(text, owner) {
				e.Errorf("Walk with %+v shows an owner", q)
			}
		}
		for _, s := range got {
			for _, h := range s.Holders {
				if h.TTL <= e.long/2 || h.TTL > e.long {
					e.Errorf("Walk reports a lease of %v for %v", e.long, h.TTL)
				}
			}
		}
	}
}

// takeMany takes many names, in an order that differs from that of a listing.
func (e *env) takeMany(engine driver.Engine, n int) (keys []driver.Key) {
	e.Helper()
	for i := range n {
		r := e.lock(fmt.Sprintf("name %03d", i*7%n))
		e.take(engine, r)
		keys = append(keys, r.Key)
	}
	slices.SortFunc(keys, driver.Key.Compare)
	return keys
}

func keysOf(all []driver.Status) (keys []driver.Key) {
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	return keys
}

func walkOfManyNames(e *env) {
	w, a := e.walker(), e.open()
	want := e.takeMany(a, 150)
	if got := keysOf(e.walk(w, driver.Query{})); !slices.Equal(got, want) {
		e.Errorf("Walk reports %d names, %q; want %d, each once and in order", len(got), got, len(want))
	}
	const behind = 100
	if got := keysOf(e.walk(w, driver.Query{After: want[behind-1]})); !slices.Equal(got, want[behind:]) {
		e.Errorf("Walk behind %q reports %q, want %q", want[behind-1].Name, got, want[behind:])
	}
}

// walkWhileOthersComeAndGo checks that a name that exists all the time is reported exactly once.
func walkWhileOthersComeAndGo(e *env) {
	w, a, b := e.walker(), e.open(), e.open()
	want := e.takeMany(a, 30)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			r := e.lock(fmt.Sprintf("name %03d, which comes and goes", i%30))
			if _, err := b.Take(e.ctx, r); err == nil {
				err = b.Release(e.ctx, driver.Release{Hold: holdOf(r)})
				if err != nil {
					e.Errorf("Release by the holder: %v", err)
				}
			}
		}
	})
	for range 5 {
		got := slices.DeleteFunc(keysOf(e.walk(w, driver.Query{})),
			func(k driver.Key) bool { return strings.HasSuffix(k.Name, "goes") })
		if !slices.Equal(got, want) {
			e.Errorf("Walk reports %q, want %q, each once", got, want)
		}
	}
	cancel()
	others.Wait()
}

func walkEndsWhenTold(e *env) {
	w, a := e.walker(), e.open()
	e.takeMany(a, 20)
	calls := 0
	err := w.Walk(e.ctx, driver.Query{Prefix: e.prefix}, func([]driver.Status) bool {
		calls++
		return false
	})
	if err != nil || calls != 1 {
		e.Errorf("Walk that was told to end called %d times, and returned %v; want 1 and nil", calls, err)
	}
}

func walkEndsWithItsContext(e *env) {
	w, a := e.walker(), e.open()
	e.takeMany(a, 20)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := w.Walk(ctx, driver.Query{Prefix: e.prefix}, func([]driver.Status) bool { return true }); err == nil {
		e.Error("Walk with a context that has ended returned nil, as if it had reported everything")
	}
}

func walkTellsHowFarItIs(e *env) {
	w, a := e.walker(), e.open()
	e.takeMany(a, 20)
	var told []int
	e.walk(w, driver.Query{Progress: func(searched int) { told = append(told, searched) }})
	if len(told) == 0 || !slices.IsSorted(told) || told[len(told)-1] < 1 {
		e.Errorf("Walk reported that it had searched %d names; want a number that grows", told)
	}
}
