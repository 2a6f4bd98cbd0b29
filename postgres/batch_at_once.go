package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// minAtOnce is the number of takes and releases from which one statement for all is cheaper than one for each.
const minAtOnce = 3

// atOnceRequest is a take or a release that the SQL function at_once may do together with others.
type atOnceRequest struct {
	name, owner string

	// Of a take.
	take   bool
	ttl    time.Duration
	tokens int32
	holder string

	// The answer, if it was done: the first token of a take, or whether the owner of a release held the name.
	done  bool
	token int64
	held  bool
}

// isDone reports whether at_once has done the request. It is false for nil.
func (e *atOnceRequest) isDone() bool { return e != nil && e.done }

// takeAtOnce describes a take for at_once. It returns nil if at_once cannot do it: the name is not an exclusive lock,
// or is probably not free.
func (e *Engine) takeAtOnce(r driver.Request, w *waiter) *atOnceRequest {
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive || w.hasBeenRefused() {
		return nil
	}
	return &atOnceRequest{
		name:   r.Name,
		owner:  r.Owner,
		take:   true,
		ttl:    roundUpMicros(r.TTL),
		tokens: int32(min(max(r.Tokens, 1), tokensPerGrant)),
		holder: r.Holder,
	}
}

// releaseAtOnce describes a release for at_once. It returns nil if at_once cannot do it: others wait for the name, or
// the name is to stay taken for a while.
func (e *Engine) releaseAtOnce(h driver.Hold, keep *time.Duration) *atOnceRequest {
	if h.Kind != driver.Lock || keep != nil || e.wanted.Has(h.Key) {
		return nil
	}
	return &atOnceRequest{name: h.Name, owner: h.Owner}
}

// runAtOnce does as many takes and releases of a batch as possible in one transaction, and returns the requests that
// still have to be sent.
func (b *batcher) runAtOnce(ctx context.Context, conn *pgx.Conn, batch []*request) (rest []*request) {
	var releases, takes, others []*request
	for _, r := range batch {
		switch {
		case r.atOnce == nil:
			others = append(others, r)
		case r.atOnce.take:
			takes = append(takes, r)
		default:
			releases = append(releases, r)
		}
	}
	listed := slices.Concat(releases, takes)
	if len(listed) < minAtOnce {
		return batch
	}
	err := b.sendAtOnce(ctx, conn, releases, takes)
	if err != nil && driver.HadNoEffect(err) {
		return batch // each is sent by itself and gets its own error
	}
	for _, r := range listed {
		if err != nil || r.atOnce.done {
			r.end(err)
		} else {
			others = append(others, r)
		}
	}
	return others
}

// sendAtOnce calls at_once, and notes which of the requests it has done.
func (b *batcher) sendAtOnce(ctx context.Context, conn *pgx.Conn, releases, takes []*request) error {
	e := b.engine
	statement, err := conn.Prepare(ctx, e.statements.atOnce, e.statements.atOnce)
	if err != nil {
		return explainNotSent(err)
	}
	releaseNames, releaseOwners := make([]string, len(releases)), make([]string, len(releases))
	for i, r := range releases {
		releaseNames[i], releaseOwners[i] = r.atOnce.name, r.atOnce.owner
	}
	names, owners, holders := make([]string, len(takes)), make([]string, len(takes)), make([]string, len(takes))
	ttls, tokens := make([]time.Duration, len(takes)), make([]int32, len(takes))
	for i, r := range takes {
		names[i], owners[i], holders[i] = r.atOnce.name, r.atOnce.owner, r.atOnce.holder
		ttls[i], tokens[i] = r.atOnce.ttl, r.atOnce.tokens
	}
	values := encode([]any{releaseNames, releaseOwners, names, owners, ttls, tokens, holders, e.maxTTL})
	row, err := readOneRow(conn.PgConn().ExecStatement(ctx, statement, values, binaryFormat, binaryFormat))
	if err != nil {
		forgetStatement(ctx, conn, e.statements.atOnce, err)
		return explainSent(err)
	}
	var reply []*int64
	if err := decode(row, &reply); err != nil {
		return err
	}
	if !readAtOnceReply(reply, releases, takes) {
		return fmt.Errorf("postgres: %w", errNoAnswer)
	}
	return nil
}

// readAtOnceReply notes which requests at_once has done, and reports whether the answer is well formed.
func readAtOnceReply(reply []*int64, releases, takes []*request) bool {
	next := func() (n int64, ok bool) {
		if len(reply) == 0 || reply[0] == nil {
			return 0, false
		}
		n, reply = *reply[0], reply[1:]
		return n, true
	}
	list := func(requests []*request) (list []int64, ok bool) {
		n, ok := next()
		if !ok || n < 0 || n > int64(len(requests)) {
			return nil, false
		}
		for range n {
			i, ok := next()
			if !ok || max(i, -i) < 1 || max(i, -i) > int64(len(requests)) {
				return nil, false
			}
			list = append(list, i)
		}
		return list, true
	}
	ended, ok := list(releases)
	if !ok {
		return false
	}
	taken, ok := list(takes)
	if !ok || len(reply) != len(taken) {
		return false
	}
	for _, i := range ended {
		r := releases[max(i, -i)-1].atOnce
		r.done, r.held = true, i > 0
	}
	for _, i := range taken {
		token, ok := next()
		if !ok {
			return false
		}
		r := takes[max(i, -i)-1].atOnce
		r.done, r.token = true, token
	}
	return true
}
