package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// place knows which server keeps which slot. It learns it by asking: a server that is taken for another answers
// NOSCRIPT, because the scripts carry the identity of the server for which they are made.
type place struct {
	client redis.UniversalClient
	config *config
	began  driver.Instant

	// routes has the server of each slot of a Cluster, or only one. It is made when the first server has
	// been asked what it is.
	routes atomic.Pointer[[]atomic.Pointer[server]]

	doubts doubts

	mu      sync.Mutex
	servers map[string]*server
	asking  map[uint16]*question
}

// question is under way to a server. Those who want to know the same wait for it.
type question struct {
	lacks    *server // has been seen to lack the scripts
	asked    time.Time
	patience time.Duration // after which it is asked again
	done     chan struct{}
	server   *server
	err      error
}

// slow is after how long without an answer a question is asked again: on another connection, as that of the first may be dead. After that it
// takes twice as long each time.
const slow = time.Second

// verifyEvery is how long a server is believed to be what it was without asking it again. A process that stops to
// be the master and becomes it again keeps its scripts: only asking tells. Two failovers take longer than this.
const verifyEvery = time.Second

func (p *place) init(client redis.UniversalClient, c *config) {
	p.client, p.config, p.began, p.servers, p.asking = client, c, driver.Now(), map[string]*server{}, map[uint16]*question{}
}

// clustered reports whether the place is a Cluster. It is known once a server has been asked.
func (p *place) clustered() bool {
	routes := p.routes.Load()
	return routes != nil && len(*routes) > 1
}

// slot is the slot of names in a Cluster. Elsewhere there is but one server, and it is 0.
func (p *place) slot(n names) uint16 {
	if !p.clustered() {
		return 0
	}
	return n.slot()
}

// guess returns the server that is thought to keep names, or nil. Slots beside each other are mostly on the same server; a
// wrong guess costs a NOSCRIPT.
func (p *place) guess(n names) *server {
	routes := p.routes.Load()
	if routes == nil {
		return nil
	}
	slot := int(p.slot(n))
	route := &(*routes)[slot]
	if s := route.Load(); s != nil {
		return s
	}
	for _, step := range []int{-1, 1} {
		for i := slot + step; i >= 0 && i < len(*routes); i += step {
			if s := (*routes)[i].Load(); s != nil {
				route.CompareAndSwap(nil, s)
				return s
			}
		}
	}
	return nil
}

// settle writes down which server keeps names.
func (p *place) settle(n names, s *server) { (*p.routes.Load())[p.slot(n)].Store(s) }

// server returns the server that keeps names. With fresh, what is known must not be too old to grant a lease.
func (p *place) server(ctx context.Context, n names, fresh bool) (*server, error) {
	s := p.guess(n)
	if s != nil && (!fresh || !p.config.guard || p.age()-time.Duration(s.verified.Load()) < verifyEvery) {
		return s, nil
	}
	return p.learn(ctx, n, nil)
}

// age is how long there has been this engine, on a clock that counts sleep.
func (p *place) age() time.Duration { return driver.Now().Since(p.began) }

// learn asks the server of a slot what it is, and sees to it that it has the scripts. lacks is the server whose scripts were not known
// where they were sent: it has lost them, or is another one than was thought.
func (p *place) learn(ctx context.Context, n names, lacks *server) (*server, error) {
	slot := p.slot(n)
	for {
		q := p.question(ctx, n, slot, lacks)
		late := time.NewTimer(time.Until(q.asked.Add(q.patience)))
		select {
		case <-q.done:
			late.Stop()
			return q.server, q.err
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return nil, driver.NoEffect(ctx.Err())
		}
	}
}

// question returns the one that is under way, or a new one.
func (p *place) question(ctx context.Context, n names, slot uint16, lacks *server) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.asking[slot]
	late := before != nil && time.Since(before.asked) >= before.patience
	if before != nil && !late && (before.lacks == lacks || lacks == nil) {
		return before
	}
	q := &question{lacks: lacks, asked: time.Now(), patience: slow, done: make(chan struct{})}
	if late {
		q.patience = 2 * before.patience
		if lacks == nil {
			q.lacks = before.lacks
		}
	}
	p.asking[slot] = q
	go p.answer(context.WithoutCancel(ctx), q, slot, n)
	return q
}

// answer answers a question. It goes on when those who asked have gone: others may have come.
func (p *place) answer(ctx context.Context, q *question, slot uint16, n names) {
	q.server, q.err = p.ask(ctx, n, q.lacks)
	p.mu.Lock()
	if p.asking[slot] == q {
		delete(p.asking, slot)
	}
	p.mu.Unlock()
	close(q.done)
}

// ask does all on one connection, so that it is one process that answers.
func (p *place) ask(ctx context.Context, n names, lacks *server) (found *server, err error) {
	err = p.pinned(ctx, n.value, func(tx *redis.Tx) error {
		moment := p.age()
		f, err := inquire(ctx, tx)
		if err != nil {
			return err
		}
		s := p.known(f.identity())
		stranger := s == nil
		if stranger {
			s = &server{identity: f.identity(), program: p.config.assemble(f.identity())}
		}
		if stranger || s == lacks {
			if err := p.load(ctx, tx, s.program); err != nil {
				return err
			}
		}
		if stranger {
			if err := p.meet(ctx, tx, s, f, n); err != nil {
				return err
			}
		}
		s.verified.Store(int64(moment))
		p.remember(f, n, s)
		found = s
		return nil
	})
	if err != nil {
		p.doubt(n, err)
		return nil, noEffect(explain(err)) // whatever it was, nothing was asked for yet
	}
	return found, nil
}

// pinned calls f with a connection to the server of a key that stays the same.
func (p *place) pinned(ctx context.Context, key string, f func(tx *redis.Tx) error) error {
	called := false
	err := p.client.Watch(ctx, func(tx *redis.Tx) error {
		called = true
		return f(tx)
	}, key)
	if err == nil && !called { // the client was sent from one server to the other until it had enough, which it does not say
		return errMoving
	}
	return err
}

func (p *place) known(identity string) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.servers[identity]
}

// meet makes the acquaintance of a server: it learns what the user may do there, and from the marker for how long grants stay closed.
func (p *place) meet(ctx context.Context, tx *redis.Tx, s *server, f facts, n names) error {
	if err := p.allowed(ctx, tx, s, f, n); err != nil || !p.config.guard {
		return err
	}
	marker, err := p.marker(ctx, tx, f)
	if err != nil {
		return err
	}
	former := 0
	if f.former != "" {
		former = 1
	}
	asked := driver.Now()
	ms, err := tx.EvalSha(ctx, s.program.sha[guard], []string{marker}, s.identity, p.config.maxTTL.Milliseconds(), f.uptime.Milliseconds(), former).Int64()
	if err != nil {
		return explain(err)
	}
	if ms > 0 {
		left := time.Duration(ms) * time.Millisecond
		s.opens, s.after = asked, left+driver.Now().Since(asked)+left/100
	}
	return nil
}

// allowed finds out what the user may not do. What the scripts need is needed by all; messages are not.
func (p *place) allowed(ctx context.Context, tx *redis.Tx, s *server, f facts, n names) error {
	publish := "PUBLISH"
	if f.mode == "cluster" {
		publish = "SPUBLISH"
	}
	n.kind = driver.Lock
	answer, err := tx.EvalSha(ctx, s.program.sha[rights], n.all(), publish).Slice()
	if err != nil {
		return explain(err)
	}
	if len(answer) != 2 {
		return errReply
	}
	if missing, _ := answer[0].([]any); len(missing) > 0 {
		return driver.Permanent(fmt.Errorf("redis: the user may not do what the scripts do: %v is missing: %s", missing, hopeless["NOPERM"]))
	}
	s.mute = answer[1] != int64(1)
	return nil
}

// marker returns the key under which a server is remembered.
func (p *place) marker(ctx context.Context, tx *redis.Tx, f facts) (string, error) {
	key := "{" + p.config.prefix + "}:server"
	if f.mode != "cluster" {
		return key, nil
	}
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", explain(err)
	}
	for _, n := range parseNodes(text) {
		if n.myself {
			return p.config.marker(n.first), nil
		}
	}
	return "", driver.NoEffect(fmt.Errorf("redis: the node has no slots, but was asked for one: the Cluster is being changed; try again"))
}

func (p *place) load(ctx context.Context, tx *redis.Tx, program *program) error {
	_, err := tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, text := range program.text {
			pipe.ScriptLoad(ctx, text)
		}
		return nil
	})
	return explain(err)
}

// remember makes a server known as the one that keeps names.
func (p *place) remember(f facts, n names, s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers[s.identity] = s
	if p.routes.Load() == nil {
		count := 1
		if f.mode == "cluster" {
			count = slots
		}
		routes := make([]atomic.Pointer[server], count)
		p.routes.Store(&routes)
	}
	p.settle(n, s)
}
