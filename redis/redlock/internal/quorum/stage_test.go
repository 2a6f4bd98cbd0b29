package quorum

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

const ms = time.Millisecond

// stage is some places in virtual time, on which the clients of a test do one thing after the other.
type stage struct {
	t      *testing.T
	places []*place
	rule   *rule
}

func newStage(t *testing.T, n int) *stage {
	s := &stage{t: t, rule: newRule(t.Errorf)}
	for range n {
		s.places = append(s.places, newPlace(0, 1, time.Minute))
	}
	return s
}

// network is how a client reaches places: what happens to each request, and how wrong its wall clock is.
type network struct {
	plan func(place int, method string) fate
	skew time.Duration
}

// steady is a network on which each request takes 10 ms, and each reply as long.
var steady = network{plan: func(int, string) fate { return fate{before: 10 * ms, after: 10 * ms} }}

// without is a network of a client whose clock is of no use, so that counters alone decide.
func without(plan func(place int, method string) fate) network { return network{plan, noClock} }

const nodeTimeout = 500 * ms

func (s *stage) client(to network) *Engine {
	c := Config{Name: "quorum", Timeout: nodeTimeout, MaxTTL: time.Minute, Closed: closedUntil}
	for i, p := range s.places {
		name := fmt.Sprint("place ", i)
		l := &link{place: p, plan: func(_ context.Context, method, _ string) fate { return to.plan(i, method) }, skew: to.skew, rule: s.rule, name: name}
		c.Nodes, c.Names = append(c.Nodes, l), append(c.Names, name)
	}
	e := New(c)
	s.t.Cleanup(e.Close)
	return e
}

var key = driver.Key{Kind: driver.Lock, Name: "name"}

const ttl = 10 * time.Second

func request(owner string) driver.Request {
	return driver.Request{Key: key, Owner: owner, Size: 1, Weight: 1, TTL: ttl, Tokens: 1}
}

func joining(owner string) driver.Request {
	r := request(owner)
	r.Join = true
	return r
}

func hold(owner string) driver.Hold { return driver.Hold{Key: key, Owner: owner} }

// count makes each place count up to a token.
func (s *stage) count(tokens ...uint64) {
	for i, to := range tokens {
		r := request("before")
		r.Floor = to
		s.takeOn(i, r)
		s.releaseOn(i, r.Owner)
	}
}

func (s *stage) takeOn(place int, r driver.Request) {
	s.t.Helper()
	if _, err := s.places[place].engine.Take(context.Background(), r); err != nil {
		s.t.Fatalf("take on place %d: %v", place, err)
	}
}

func (s *stage) releaseOn(place int, owner string) {
	s.t.Helper()
	if err := s.places[place].engine.Release(context.Background(), driver.Release{Hold: hold(owner)}); err != nil {
		s.t.Fatalf("release on place %d: %v", place, err)
	}
}

func (s *stage) take(e *Engine, owner string) driver.Grant {
	s.t.Helper()
	g, err := e.Take(s.t.Context(), request(owner))
	if err != nil {
		s.t.Fatalf("take by %s: %v", owner, err)
	}
	return g
}

func (s *stage) renew(e *Engine, owner string) (err error) {
	err = context.Canceled
	e.Renew(s.t.Context(), []driver.Renewal{{Hold: hold(owner), TTL: ttl}}, func(_ int, outcome error) { err = outcome })
	return err
}

func (s *stage) release(e *Engine, owner string) {
	s.t.Helper()
	if err := e.Release(s.t.Context(), driver.Release{Hold: hold(owner)}); err != nil {
		s.t.Errorf("release by %s: %v", owner, err)
	}
}

// give releases what was granted to a request.
func (s *stage) give(e *Engine, r driver.Request, g driver.Grant) {
	s.t.Helper()
	if err := e.Release(s.t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: cmp.Or(g.Owner, r.Owner)}}); err != nil {
		s.t.Errorf("release by %s: %v", r.Owner, err)
	}
}

// free says on how many places nobody holds or waits.
func (s *stage) free() (n int) {
	for _, p := range s.places {
		if left, _ := p.engine.List(context.Background(), driver.Query{}); len(left) == 0 {
			n++
		}
	}
	return n
}

// took says how long f takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
