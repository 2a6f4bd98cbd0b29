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
			s.verified.Store(int64(-verifyEvery)) // it has not been
		}
		if stranger || s == lacks {
			if err := p.load(ctx, tx, s.program); err != nil {
				return err
			}
		}
		var seen *reading
		if stranger {
			if seen, err = p.meet(ctx, tx, s, f, n); err != nil {
				return err
			}
			if seen != nil && !f.replica {
				p.verified(s, seen, moment) // before anybody else can find it, and take it for open
			}
		}
		found = p.remember(f, n, s)
		if f.replica { // it is in its place no more
			return nil
		}
		if p.looking || !p.config.guard || f.cluster() {
			found.verified.Store(int64(moment))
			return nil
		}
		if seen == nil {
			if seen, err = p.readAgain(ctx, tx, n, found); err != nil {
				return err
			}
		}
		p.verified(found, seen, moment)
		return nil
	})
	if err != nil {
		p.doubt(n, err)
		return nil, noEffect(aboutKeys(n, p.access(), explain(err))) // whatever it was, nothing was asked for yet
	}
	return found, nil
}

// reading is what a marker said, and when it was asked for.
type reading struct {
	mark  mark
	asked driver.Instant
}

// meet makes the acquaintance of a server: it learns what the user may do there, and from the marker for how long grants stay closed. In a Cluster each
// slot has a marker of its own, which is read when a script finds that it does not say open. Who only looks leaves the marker alone.
func (p *place) meet(ctx context.Context, tx *redis.Tx, s *server, f facts, n names) (*reading, error) {
	if p.looking {
		return nil, p.allowed(ctx, tx, s, f, n, rightsToLook)
	}
	if err := p.allowed(ctx, tx, s, f, n, rights); err != nil || !p.config.guard || f.cluster() {
		return nil, err
	}
	return p.readMarker(ctx, tx, n, s, p.away(f, n))
}

// readAgain reads the marker of a server that is known. It is read each time that the server is verified: somebody who knows more may have closed it
// since, and it may be in another list by now.
func (p *place) readAgain(ctx context.Context, tx *redis.Tx, n names, s *server) (*reading, error) {
	seen, err := p.readMarker(ctx, tx, n, s, -1)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // they were removed
		if err = p.load(ctx, tx, s.program); err == nil {
			seen, err = p.readMarker(ctx, tx, n, s, -1)
		}
	}
	return seen, err
}

func (p *place) readMarker(ctx context.Context, tx *redis.Tx, n names, s *server, away time.Duration) (*reading, error) {
	asked := driver.Now()
	m, err := readMark(tx.EvalSha(ctx, s.program.sha[guard], []string{p.marker(n)}, p.config.guardArgs(away)...).Result())
	if err != nil {
		return nil, err
	}
	return &reading{m, asked}, nil
}

// verified notes that a server was what it is at a moment, and what its marker said then. An answer that comes late says what was.
func (p *place) verified(s *server, seen *reading, moment time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.list.Load() == nil || int64(moment) >= s.verified.Load() {
		s.list.Store(&seen.mark.nodes)
		s.gate.Store(newGate(s, seen.asked, seen.mark.left, seen.mark.state))
		s.verified.Store(int64(moment))
	}
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
