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

// Examine implements [driver.Operator]. Its servers are those that the engine was given. Each is asked with four-letter
// words on connections of their own, and the ensemble is asked for its list of servers and for a change that it must
// refuse. Nothing is changed.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.client.ctx.Err() != nil {
		return driver.Examination{}, errClosed
	}
	if err := ctx.Err(); err != nil {
		return driver.Examination{}, driver.NoEffect(err)
	}
	er := e.examineEnsemble(ctx)
	if err := ctx.Err(); err != nil {
		return driver.Examination{}, driver.NoEffect(err)
	}
	if err := er.errIfSilent(); err != nil {
		return driver.Examination{}, driver.NoEffect(fmt.Errorf("zookeeper: nothing could be found out: %w", err))
	}
	x := driver.Examination{Findings: er.judge()}
	for _, sr := range er.servers {
		sr.server.Votes = sr.server.Err == nil && sr.server.Role != "observer" || !er.isServed()
		x.Servers = append(x.Servers, sr.server)
	}
	return x, nil
}

const (
	// examineLimit limits how long an examination waits for servers.
	examineLimit = 3 * time.Second
	// roundTrips is how often the round trip is measured.
	roundTrips = 5
)

// withEarlierDeadline returns a context that ends after examineLimit, and before the given one, so that there is time
// left to report servers that have not answered.
func withEarlierDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := examineLimit
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/3*2)
	}
	return context.WithTimeout(ctx, limit)
}

// examineEnsemble examines all servers at the same time, and what the engine may do.
func (e *Engine) examineEnsemble(ctx context.Context) *ensembleReport {
	ctx, cancel := withEarlierDeadline(ctx)
	defer cancel()
	er := &ensembleReport{
		wantedTimeout: e.config.sessionTimeout,
		givenTimeout:  e.client.givenTimeout(),
		plainDialer:   e.config.dialer == nil,
		sendsPassword: e.config.user != "",
	}
	var work sync.WaitGroup
	work.Go(func() { er.countVoters(ctx, e) })
	work.Go(func() { er.rights = e.judgeRights(ctx) })
	for _, name := range e.client.servers {
		if !slices.ContainsFunc(er.servers, func(sr *serverReport) bool { return sr.server.Name == name }) {
			sr := newServerReport(name)
			sr.dial = e.client.dialer
			er.servers = append(er.servers, sr)
		}
	}
	// All are measured once before any is measured again, so that the last transactions that they know of can be
	// compared. A silent server does not take up the time of the others.
	first, enough := withEarlierDeadline(ctx)
	er.forEachServer(func(sr *serverReport) { sr.measure(first) })
	enough()
	er.forEachServer(func(sr *serverReport) {
		sr.readSettings(ctx)
		for range roundTrips - 1 {
			sr.measure(ctx)
		}
	})
	work.Wait()
	return er
}

// forEachServer calls f for all servers at the same time.
func (er *ensembleReport) forEachServer(f func(*serverReport)) {
	var all sync.WaitGroup
	for _, sr := range er.servers {
		all.Go(func() { f(sr) })
	}
	all.Wait()
}

// countVoters asks the ensemble how many servers vote. It has them in a node, see
// https://zookeeper.apache.org/doc/current/zookeeperReconfig.html. A standalone server lists none there.
func (er *ensembleReport) countVoters(ctx context.Context, e *Engine) {
	data, _, err := e.client.get(ctx, "/zookeeper/config")
	if err != nil {
		return // it may be forbidden, or no server serves
	}
	er.voters = 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "server.") && !strings.Contains(line, ":observer") {
			er.voters++
		}
	}
	er.voters = max(er.voters, 1)
}

// isServed reports whether at least one of the servers serves clients.
func (er *ensembleReport) isServed() bool {
	return slices.ContainsFunc(er.servers, func(sr *serverReport) bool { return sr.serves })
}

// errIfSilent returns why nothing could be found out, if that is so.
func (er *ensembleReport) errIfSilent() error {
	var all []error
	for _, sr := range er.servers {
		if sr.server.Err == nil || sr.hasNoLeader {
			return nil
		}
		all = append(all, fmt.Errorf("%s: %w", sr.server.Name, sr.server.Err))
	}
	return errors.Join(all...)
}

// givenTimeout returns the timeout of the session, or of the last one.
func (c *client) givenTimeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}
