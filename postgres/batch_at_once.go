package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// The numbers of requests from which one statement for all is cheaper than one for each. One for names with queues
// saves more: each transaction that notifies wakes all connections that listen.
const (
	minAtOnce     = 3
	minShutAtOnce = 2
)

// atOnceRequest is a take or a release that the SQL function at_once, or shut_at_once, may do together with others.
type atOnceRequest struct {
	name, owner string
	// queued says that others hold or await the name: a release lets the head of the queue in, and a take joins the
	// queue.
	queued bool

	// Of a take.
	take   bool
	ttl    time.Duration
	tokens int32
	holder string

	// Of a take that joins.
	listener, ticket int64
	maxWaiters       int32

	// The answer, if it was done: the first token of a take, or the refusal of one that joined, or whether the owner of
	// a release held the name.
	done    bool
	token   int64
	refusal answer
	held    bool
}

// isDone reports whether the request was done together with others. It is false for nil.
func (r *atOnceRequest) isDone() bool { return r != nil && r.done }

// answer is the answer to a take that was done.
func (r *atOnceRequest) answer() answer {
	if r.queued {
		return r.refusal
	}
	return answer{token: r.token, tokens: int(r.tokens)}
}

// takeAtOnce describes a take that may be done together with others. It returns nil if that is not possible: it is not
// for an exclusive lock, or it is not simply the first request for a free name, or, if queued, to join a queue.
func takeAtOnce(r driver.Request, w *waiter, listener int64, queued bool) *atOnceRequest {
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive || w.hasBeenRefused() {
		return nil
	}
	one := &atOnceRequest{
		name:   r.Name,
		owner:  r.Owner,
		take:   true,
		ttl:    roundUpMicros(r.TTL),
		tokens: int32(min(max(r.Tokens, 1), tokensPerGrant)),
		holder: r.Holder,
	}
	if !queued {
		return one
	}
	if r.MaxWaiters <= 0 || listener == 0 {
		return nil
	}
	one.queued, one.listener, one.ticket = true, listener, w.ticket
	one.maxWaiters = int32(min(r.MaxWaiters, math.MaxInt32))
	return one
}

// releaseAtOnce describes a release that may be done together with others. It returns nil if that is not possible: it
// is not for a lock, or the name is to stay taken for a while.
func releaseAtOnce(h driver.Hold, keep *time.Duration, queued bool) *atOnceRequest {
	if h.Kind != driver.Lock || keep != nil {
		return nil
	}
	return &atOnceRequest{name: h.Name, owner: h.Owner, queued: queued}
}

// runAtOnce does as many takes and releases of a batch as possible in two transactions, one for free names and one for
// names with queues, and returns the requests that still have to be sent.
func (b *batcher) runAtOnce(ctx context.Context, conn *pgx.Conn, batch []*request) (rest []*request) {
	var free, queued togetherRequests
	for _, r := range batch {
		switch {
		case r.atOnce == nil:
			rest = append(rest, r)
		case r.atOnce.queued:
			queued.add(r)
		default:
			free.add(r)
		}
	}
	rest = append(rest, b.runTogether(ctx, conn, free, minAtOnce, b.sendAtOnce)...)
	return append(rest, b.runTogether(ctx, conn, queued, minShutAtOnce, b.sendShutAtOnce)...)
}

// togetherRequests are the requests for one statement.
type togetherRequests struct{ releases, takes []*request }

func (t *togetherRequests) add(r *request) {
	if r.atOnce.take {
		t.takes = append(t.takes, r)
	} else {
		t.releases = append(t.releases, r)
	}
}

// runTogether sends requests in one statement, unless they are fewer than least, and returns those that it has not
// done.
func (b *batcher) runTogether(
	ctx context.Context, conn *pgx.Conn, requests togetherRequests, least int,
	send func(context.Context, *pgx.Conn, togetherRequests) error,
) (rest []*request) {
	all := slices.Concat(requests.releases, requests.takes)
	if len(all) < least {
		return all
	}
	err := send(ctx, conn, requests)
	if err != nil && driver.HadNoEffect(err) {
		return all // each is sent by itself and gets its own error
	}
	for _, r := range all {
		if err != nil || r.atOnce.done {
			r.end(err)
		} else {
			rest = append(rest, r)
		}
	}
	return rest
}

// sendAtOnce calls at_once, and notes which of the requests it has done.
func (b *batcher) sendAtOnce(ctx context.Context, conn *pgx.Conn, requests togetherRequests) error {
	takes := requests.takes
	reply, err := b.callTogether(ctx, conn, b.engine.statements.atOnce, requests,
		pick(takes, func(r *atOnceRequest) time.Duration { return r.ttl }),
		pick(takes, func(r *atOnceRequest) int32 { return r.tokens }),
		pick(takes, func(r *atOnceRequest) string { return r.holder }), b.engine.maxTTL)
	if err == nil && !readAtOnceReply(reply, requests.releases, takes) {
		err = fmt.Errorf("postgres: %w", errNoAnswer)
	}
	return err
}

// sendShutAtOnce calls shut_at_once, and notes which of the requests it has done.
func (b *batcher) sendShutAtOnce(ctx context.Context, conn *pgx.Conn, requests togetherRequests) error {
	takes := requests.takes
	reply, err := b.callTogether(ctx, conn, b.engine.statements.shutAtOnce, requests,
		pick(takes, func(r *atOnceRequest) time.Duration { return r.ttl }),
		pick(takes, func(r *atOnceRequest) int32 { return r.tokens }),
		pick(takes, func(r *atOnceRequest) int64 { return r.listener }),
		pick(takes, func(r *atOnceRequest) int64 { return r.ticket }),
		pick(takes, func(r *atOnceRequest) string { return r.holder }), b.engine.maxTTL,
		pick(takes, func(r *atOnceRequest) int32 { return r.maxWaiters }))
	if err == nil && !readShutAtOnceReply(reply, requests.releases, takes) {
		err = fmt.Errorf("postgres: %w", errNoAnswer)
	}
	return err
}

// pick returns one value of each request.
func pick[T any](requests []*request, of func(r *atOnceRequest) T) []T {
	all := make([]T, len(requests))
	for i, r := range requests {
		all[i] = of(r.atOnce)
	}
	return all
}

// callTogether calls a function that answers with an array of numbers. Its arguments begin with the names and owners of
// the releases, and of the takes.
func (b *batcher) callTogether(
	ctx context.Context, conn *pgx.Conn, query string, requests togetherRequests, others ...any,
) (reply []*int64, err error) {
	name, owner := func(r *atOnceRequest) string { return r.name }, func(r *atOnceRequest) string { return r.owner }
	args := append([]any{
		pick(requests.releases, name), pick(requests.releases, owner), pick(requests.takes, name),
		pick(requests.takes, owner),
	}, others...)
	statement, err := conn.Prepare(ctx, query, query)
	if err != nil {
		return nil, explainNotSent(err)
	}
	row, err := readOneRow(conn.PgConn().ExecStatement(ctx, statement, encode(args), binaryFormat, binaryFormat))
	if err != nil {
		forgetStatement(ctx, conn, query, err)
		return nil, explainSent(err)
	}
	err = decode(row, &reply)
	return reply, err
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

// readShutAtOnceReply notes which requests shut_at_once has done, and reports whether the answer is well formed.
func readShutAtOnceReply(reply []*int64, releases, takes []*request) bool {
	if len(reply) != len(releases)+3*len(takes) || slices.Contains(reply, nil) {
		return false
	}
	for i, r := range releases {
		r.atOnce.done = *reply[i] != 0
		r.atOnce.held = r.atOnce.done
	}
	reply = reply[len(releases):]
	for i, r := range takes {
		at, ends, ahead := *reply[3*i], reply[3*i+1], reply[3*i+2]
		if r.atOnce.done = at != 0; r.atOnce.done {
			r.atOnce.refusal = readAnswer([]*int64{nil, nil, &at, nil, ends, ahead})
		}
	}
	return true
}
