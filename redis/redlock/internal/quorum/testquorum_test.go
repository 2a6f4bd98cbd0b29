package quorum

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

const ms = time.Millisecond

// testQuorum is some nodes in virtual time. The clients of a test act on them one after the other.
type testQuorum struct {
	t     *testing.T
	nodes []*simNode
	rule  *ownerRule
}

func newTestQuorum(t *testing.T, n int) *testQuorum {
	s := &testQuorum{t: t, rule: newOwnerRule(t.Errorf)}
	for range n {
		s.nodes = append(s.nodes, newSimNode(0, 1, time.Minute))
	}
	return s
}

// networkPlan is how a client reaches nodes: what happens to each request, and how wrong the client's wall clock is.
type networkPlan struct {
	plan func(node int, method string) delivery
	skew time.Duration
}

// steady is a network on which each request takes 10 ms, and each reply as long.
var steady = networkPlan{
	plan: func(int, string) delivery { return delivery{requestDelay: 10 * ms, replyDelay: 10 * ms} },
}

// withoutClock is the network of a client whose clock is useless, so that counters alone decide.
func withoutClock(plan func(node int, method string) delivery) networkPlan {
	return networkPlan{plan, noClockSkew}
}

const nodeTimeout = 500 * ms

func (s *testQuorum) client(to networkPlan) *Engine {
	c := Config{Name: "quorum", Timeout: nodeTimeout, MaxTTL: time.Minute, Closed: closedUntil}
	for i, p := range s.nodes {
		name := fmt.Sprint("node ", i)
		l := &faultyNode{
			node: p,
			plan: func(_ context.Context, method, _ string) delivery { return to.plan(i, method) },
			skew: to.skew,
			rule: s.rule,
			name: name,
		}
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

func holdOf(owner string) driver.Hold { return driver.Hold{Key: key, Owner: owner} }

// setCounters makes each node count up to a token.
func (s *testQuorum) setCounters(tokens ...uint64) {
	for i, to := range tokens {
		r := request("before")
		s.takeFromOn(i, r, to)
		s.releaseOn(i, r.Owner)
	}
}

func (s *testQuorum) takeOn(node int, r driver.Request) {
	s.t.Helper()
	s.takeFromOn(node, r, 0)
}

// takeFromOn takes a name on one node, with a floor for its token.
func (s *testQuorum) takeFromOn(node int, r driver.Request, floor uint64) {
	s.t.Helper()
	from := quorumnode.Request{Request: r, Floor: floor}
	if _, err := s.nodes[node].engine.TakeFrom(context.Background(), from); err != nil {
		s.t.Fatalf("take on node %d: %v", node, err)
	}
}

func (s *testQuorum) releaseOn(node int, owner string) {
	s.t.Helper()
	if err := s.nodes[node].engine.Release(context.Background(), driver.Release{Hold: holdOf(owner)}); err != nil {
		s.t.Fatalf("release on node %d: %v", node, err)
	}
}

func (s *testQuorum) mustTake(e *Engine, owner string) driver.Grant {
	s.t.Helper()
	g, err := e.Take(s.t.Context(), request(owner))
	if err != nil {
		s.t.Fatalf("take by %s: %v", owner, err)
	}
	return g
}

func (s *testQuorum) renew(e *Engine, owner string) (err error) {
	err = context.Canceled
	e.Renew(s.t.Context(), []driver.Renewal{{Hold: holdOf(owner), TTL: ttl}},
		func(_ int, outcome error) { err = outcome })
	return err
}

func (s *testQuorum) mustRelease(e *Engine, owner string) {
	s.t.Helper()
	if err := e.Release(s.t.Context(), driver.Release{Hold: holdOf(owner)}); err != nil {
		s.t.Errorf("release by %s: %v", owner, err)
	}
}

// releaseGrant releases what was granted to a request.
func (s *testQuorum) releaseGrant(e *Engine, r driver.Request, g driver.Grant) {
	s.t.Helper()
	if err := e.Release(s.t.Context(),
		driver.Release{Hold: driver.Hold{Key: r.Key, Owner: cmp.Or(g.Owner, r.Owner)}}); err != nil {
		s.t.Errorf("release by %s: %v", r.Owner, err)
	}
}

// freeNodes returns on how many nodes nobody holds or waits.
func (s *testQuorum) freeNodes() (n int) {
	for _, p := range s.nodes {
		if left, _ := p.engine.List(context.Background(), driver.Query{}); len(left) == 0 {
			n++
		}
	}
	return n
}

// durationOf returns how long f takes.
func durationOf(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
