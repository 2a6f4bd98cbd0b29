package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

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
		found = p.remember(f, n, s)
		found.verified.Store(int64(moment))
		return nil
	})
	if err != nil {
		p.doubt(n, err)
		return nil, noEffect(explain(err)) // whatever it was, nothing was asked for yet
	}
	return found, nil
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
	ms, err := tx.EvalSha(ctx, s.program.sha[guard], []string{marker}, s.identity, p.config.maxTTL.Milliseconds(), p.upFor(f, n).Milliseconds(), former).Int64()
	if err != nil {
		return explain(err)
	}
	if ms > 0 {
		left := time.Duration(ms) * time.Millisecond
		s.opens, s.after = asked, left+driver.Now().Since(asked)+left/100
	}
	return nil
}

// upFor is for how long a server has run at most. What it says itself follows its wall clock, which may have been set. If there was another one in
// its place, it has not run since before that one was seen last.
func (p *place) upFor(f facts, n names) time.Duration {
	before := p.guess(n)
	if before == nil || before.identity == f.identity() || f.cluster() { // a slot may be moved to a server that runs for long
		return f.uptime
	}
	return min(f.uptime, p.age()-time.Duration(before.verified.Load()))
}

// allowed finds out what the user may not do. What the scripts need is needed by all; messages are not.
func (p *place) allowed(ctx context.Context, tx *redis.Tx, s *server, f facts, n names) error {
	publish := "PUBLISH"
	if f.cluster() {
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
	if !f.cluster() {
		return key, nil
	}
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", explain(err)
	}
	for _, n := range keepers(text) {
		if n.myself {
			return p.config.marker(n.first()), nil
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
