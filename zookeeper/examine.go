package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements [driver.Examiner]. Places are the servers that the engine was given. Each is asked by connections of their own, with four-letter
// words, and the ensemble is asked which servers it has, and for a change that it must refuse. Nothing is changed.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.client.life.Err() != nil {
		return driver.Examination{}, errClosed
	}
	if err := ctx.Err(); err != nil {
		return driver.Examination{}, driver.NoEffect(err)
	}
	s := e.survey(ctx)
	if err := ctx.Err(); err != nil {
		return driver.Examination{}, driver.NoEffect(err)
	}
	if err := s.silent(); err != nil {
		return driver.Examination{}, driver.NoEffect(fmt.Errorf("zookeeper: nothing could be found out: %w", err))
	}
	x := driver.Examination{Findings: s.judge()}
	for _, v := range s.visits {
		v.place.Votes = v.place.Err == nil && v.place.Role != "observer" || !s.serves()
		x.Places = append(x.Places, v.place)
	}
	return x, nil
}

const (
	// examining is for how long an examination waits for servers.
	examining = 3 * time.Second
	// trips is how often the round trip is measured.
	trips = 5
)

// early is a context that ends before another one, so that there is time left to tell of servers that have not answered. It does not wait for them
// for longer than examining in any case.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := examining
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/3*2)
	}
	return context.WithTimeout(ctx, limit)
}

// survey looks at all servers at the same time, and at what the engine may do.
func (e *Engine) survey(ctx context.Context) *survey {
	ctx, cancel := early(ctx)
	defer cancel()
	s := &survey{asked: e.config.sessionTimeout, given: e.client.given(), plain: e.config.dialer == nil, user: e.config.user != ""}
	var work sync.WaitGroup
	work.Go(func() { s.members(ctx, e) })
	work.Go(func() { s.rights = e.judgeRights(ctx) })
	for _, name := range e.client.servers {
		if !slices.ContainsFunc(s.visits, func(v *visit) bool { return v.place.Name == name }) {
			v := newVisit(name)
			v.dial = e.client.dialer
			s.visits = append(s.visits, v)
		}
	}
	// All are greeted before one is greeted again, so that what they have last heard of can be compared. Whoever is silent does not take the time of
	// the others.
	first, enough := early(ctx)
	s.each(func(v *visit) { v.greet(first) })
	enough()
	s.each(func(v *visit) {
		v.look(ctx)
		for range trips - 1 {
			v.greet(ctx)
		}
	})
	work.Wait()
	return s
}

// each calls f for all servers at the same time.
func (s *survey) each(f func(*visit)) {
	var all sync.WaitGroup
	for _, v := range s.visits {
		all.Go(func() { f(v) })
	}
	all.Wait()
}

// members asks the ensemble how many servers vote. It keeps them in a node: see
// https://zookeeper.apache.org/doc/current/zookeeperReconfig.html. One that is alone has none there.
func (s *survey) members(ctx context.Context, e *Engine) {
	data, _, err := e.client.get(ctx, "/zookeeper/config")
	if err != nil {
		return // it may be forbidden, or nobody serves
	}
	s.voters = 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "server.") && !strings.Contains(line, ":observer") {
			s.voters++
		}
	}
	s.voters = max(s.voters, 1)
}

// serves reports whether clients can work with one of the servers.
func (s *survey) serves() bool {
	return slices.ContainsFunc(s.visits, func(v *visit) bool { return v.serves })
}

// silent returns why nothing could be found out, if so.
func (s *survey) silent() error {
	var all []error
	for _, v := range s.visits {
		if v.place.Err == nil || v.without {
			return nil
		}
		all = append(all, fmt.Errorf("%s: %w", v.place.Name, v.place.Err))
	}
	return errors.Join(all...)
}

// given is the timeout of the session, or of the last one.
func (c *client) given() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}
