package redis

import (
	"context"
	"fmt"
	"strings"
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
			s = &server{identity: f.identity(), program: p.config.assemble(f.identity(), f.cluster())}
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
		if f.replica { // it is in its place no more
			return nil
		}
		return p.verified(ctx, tx, f, n, found, moment)
	})
	if err != nil {
		p.doubt(n, err)
		return nil, noEffect(aboutKeys(n, p.access(), explain(err))) // whatever it was, nothing was asked for yet
	}
	return found, nil
}

// meet makes the acquaintance of a server: it learns what the user may do there, and from the marker for how long grants stay closed. In a Cluster each
// slot has a marker of its own, which is read when a script finds that it does not say open. Who only looks leaves the marker alone.
func (p *place) meet(ctx context.Context, tx *redis.Tx, s *server, f facts, n names) error {
	if p.looking {
		return p.allowed(ctx, tx, s, f, n, rightsToLook)
	}
	if err := p.allowed(ctx, tx, s, f, n, rights); err != nil || !p.config.guard || f.cluster() {
		return err
	}
	marker, asked := p.marker(n), driver.Now()
	m, err := readMark(tx.EvalSha(ctx, s.program.sha[guard], []string{marker}, p.config.guardArgs(p.away(f, n))...).Result())
	if err != nil {
		return err
	}
	s.gate.Store(newGate(s, asked, m.left, m.state))
	return nil
}

// verified notes that a server was what it is at a moment. Its marker is read each time: somebody who knows more may have closed it since, and it may be in
// another list by now.
func (p *place) verified(ctx context.Context, tx *redis.Tx, f facts, n names, s *server, moment time.Duration) error {
	if p.looking || !p.config.guard || f.cluster() {
		s.verified.Store(int64(moment))
		return nil
	}
	asked := driver.Now()
	read := func() (mark, error) {
		return readMark(tx.EvalSha(ctx, s.program.sha[guard], []string{p.marker(n)}, p.config.guardArgs(-1)...).Result())
	}
	m, err := read()
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // they were removed
		if err = p.load(ctx, tx, s.program); err == nil {
			m, err = read()
		}
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := s.verified.Load(); s.list.Load() == nil || int64(moment) >= before { // an answer that comes late says what was
		s.list.Store(&m.nodes)
		s.gate.Store(newGate(s, asked, m.left, m.state))
		s.verified.Store(int64(moment))
	}
	return nil
}

// away is how long ago another server was seen in the place of this one. It may have been there for verifyEvery after that, and granted
// leases: guard.lua adds that. It is negative if there was none.
func (p *place) away(f facts, n names) time.Duration {
	before := p.guess(n)
	if before == nil || before.identity == f.identity() {
		return -1
	}
	return p.age() - time.Duration(before.verified.Load())
}

// allowed finds out by a script what the user may not do. What the scripts need is needed by all; messages are not.
func (p *place) allowed(ctx context.Context, tx *redis.Tx, s *server, f facts, n names, by script) error {
	publish := "PUBLISH"
	if f.cluster() {
		publish = "SPUBLISH"
	}
	n.kind = driver.Lock
	run := tx.EvalSha
	if p.evalsha == evalshaToLook {
		run = tx.EvalShaRO
	}
	answer, err := run(ctx, s.program.sha[by], n.all(), publish).Slice()
	if err != nil {
		return aboutKeys(n, p.access(), explain(err))
	}
	if len(answer) < 2 {
		return errReply
	}
	if missing, _ := answer[0].([]any); len(missing) > 0 {
		e := &RightsError{}
		for _, command := range missing {
			e.Missing = append(e.Missing, strings.ToLower(fmt.Sprint("+", command)))
		}
		return driver.Permanent(e)
	}
	s.mute = answer[1] != int64(1)
	s.loud = len(answer) > 2 && answer[2] == int64(1)
	return nil
}

func (p *place) load(ctx context.Context, tx *redis.Tx, program *program) error {
	_, err := tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for s, text := range program.text {
			if !p.looking || script(s).looks() {
				pipe.ScriptLoad(ctx, text)
			}
		}
		return nil
	})
	return explain(err)
}
