package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

var _ driver.Examiner = (*Engine)(nil)

// OpenToExamine makes an engine as [Open] does, but asks the servers nothing yet, and so refuses none: it is for Examine, which also tells of servers that Open
// refuses. The engine is as safe as any other: such servers do not vote.
func OpenToExamine(rawURL string) (*Engine, error) {
	t, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	engines, err := t.open()
	if err != nil {
		return nil, err
	}
	return unmet(engines, t.hosts, t.config), nil
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	a := e.Engine.Abilities()
	a.Examine = true
	return a
}

// Examine implements [driver.Examiner]. Places are the servers that vote, in the order in which they were given, each followed by its
// replicas. It asks all of them, so one that is silent takes its time.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	within, cancel := early(ctx)
	defer cancel()
	seen := make([]look, len(e.members))
	var work sync.WaitGroup
	for i, m := range e.members {
		work.Go(func() { seen[i] = m.look(within, e.Timeout) })
	}
	work.Wait()
	if err := allFailed(seen); err != nil {
		return driver.Examination{}, err
	}
	return merge(seen), nil
}

// early is a context that ends before another one, so that there is time left to tell of servers that have not answered. It does not wait for them
// for longer than 4 s in any case.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := examining
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/5*4)
	}
	return context.WithTimeout(ctx, limit)
}

// examining is for how long an examination waits for servers.
const examining = 4 * time.Second

// look is what was seen of one server.
type look struct {
	name string
	is   redis.Server
	driver.Examination
	err error
}

// look looks at the server, unless it does not say what it is in the time that one has for a request.
func (m *member) look(ctx context.Context, timeout time.Duration) look {
	l := look{name: m.name}
	first, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if l.is, l.err = m.Server(first); l.err == nil || driver.IsPermanent(l.err) { // it may say more to Examine than to those who want to lock
		l.Examination, l.err = m.Examine(ctx)
	}
	return l
}

// allFailed is an error if nothing is known of any server.
func allFailed(seen []look) error {
	var all []string
	for _, l := range seen {
		if l.err == nil {
			return nil
		}
		all = append(all, fmt.Sprintf("%s: %s", l.name, l.err))
	}
	err := fmt.Errorf("no server could be examined: %s", strings.Join(all, "; "))
	if driver.IsPermanent(seen[0].err) {
		return driver.Permanent(err)
	}
	return driver.NoEffect(err)
}
