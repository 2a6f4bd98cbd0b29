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

// OpenToExamine makes an engine as [Open] does, but asks the servers nothing yet, and so refuses none. It is
// for Examine, which also reports servers that Open refuses. The engine is as safe as any other: such servers
// do not vote.
func OpenToExamine(rawURL string) (*Engine, error) {
	t, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	engines, err := t.open()
	if err != nil {
		return nil, err
	}
	return newUninitialized(engines, t.hosts, t.config), nil
}

// Examine implements [driver.Operator]. The servers are those that vote, in the order in which they were given, each
// followed by its replicas. Examine waits for all of them, so it takes longer if one is silent.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	nodeCtx, cancel := withTimeToReport(ctx)
	defer cancel()
	reports := make([]nodeReport, len(e.nodes))
	var work sync.WaitGroup
	for i, n := range e.nodes {
		work.Go(func() { reports[i] = n.examine(nodeCtx, e.Timeout) })
	}
	work.Wait()
	if err := errIfAllFailed(reports); err != nil {
		return driver.Examination{}, err
	}
	x := mergeReports(reports)
	x.Majority = true
	return x, nil
}

// withTimeToReport returns a context that ends before ctx, and after examineTimeout at most. So there is time left to
// report servers that have not answered.
func withTimeToReport(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := examineTimeout
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/5*4)
	}
	return context.WithTimeout(ctx, limit)
}

// examineTimeout is the longest time for which Examine waits for servers.
const examineTimeout = 4 * time.Second

// nodeReport is what was found out about one server.
type nodeReport struct {
	name   string
	server redis.Server
	driver.Examination
	err error
}

// examine examines the server, unless it takes longer than a request may to say what it is.
func (n *node) examine(ctx context.Context, timeout time.Duration) nodeReport {
	r := nodeReport{name: n.name}
	first, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.server, r.err = n.Server(first)
	if r.err == nil || driver.IsPermanent(r.err) { // Examine reports servers that locks refuse
		r.Examination, r.err = n.Examine(ctx)
	}
	return r
}

// errIfAllFailed returns an error if nothing is known of any server.
func errIfAllFailed(reports []nodeReport) error {
	var all []string
	for _, r := range reports {
		if r.err == nil {
			return nil
		}
		all = append(all, fmt.Sprintf("%s: %s", r.name, r.err))
	}
	err := fmt.Errorf("no server could be examined: %s", strings.Join(all, "; "))
	if driver.IsPermanent(reports[0].err) {
		return driver.Permanent(err)
	}
	return driver.NoEffect(err)
}
