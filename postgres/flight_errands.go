package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// leastAtOnce is from how many on errands are cheaper in one statement than in one each.
const leastAtOnce = 3

// errand is a take or a release that the function at_once may see to, together with those of others.
type errand struct {
	name, owner string

	// Of a take.
	take   bool
	ttl    time.Duration
	many   int32
	holder string

	// The answer, if it was done: the first token of a take, or whether one who released has held.
	done  bool
	token int64
	held  bool
}

// isDone reports whether at_once has seen to an errand, if it is one.
func (e *errand) isDone() bool { return e != nil && e.done }

// errandOfTake returns the errand of a request, or nil if it is none: the name is not an exclusive lock, or not free as far as is known.
func (e *Engine) errandOfTake(r driver.Request, w *waiter) *errand {
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive || w.refusedBefore() {
		return nil
	}
	return &errand{name: r.Name, owner: r.Owner, take: true, ttl: whole(r.TTL), many: int32(min(max(r.Tokens, 1), tokensPerGrant)), holder: r.Holder}
}

// errandOfRelease returns the errand of a release, or nil if it is none: others wait for the name, or it stays taken.
func (e *Engine) errandOfRelease(h driver.Hold, keep *time.Duration) *errand {
	if h.Kind != driver.Lock || keep != nil || e.wanted.Has(h.Key) {
		return nil
	}
	return &errand{name: h.Name, owner: h.Owner}
}

// atOnce sees to the errands of a flight in one transaction, and returns the requests that are still to be sent.
func (f *flights) atOnce(ctx context.Context, conn *pgx.Conn, batch []*request) (rest []*request) {
	var releases, takes, others []*request
	for _, r := range batch {
		switch {
		case r.errand == nil:
			others = append(others, r)
		case r.errand.take:
			takes = append(takes, r)
		default:
			releases = append(releases, r)
		}
	}
	errands := slices.Concat(releases, takes)
	if len(errands) < leastAtOnce {
		return batch
	}
	err := f.askAtOnce(ctx, conn, releases, takes)
	if err != nil && driver.HadNoEffect(err) {
		return batch // each hears for itself what is wrong
	}
	for _, r := range errands {
		if err != nil || r.errand.done {
			r.end(err)
		} else {
			others = append(others, r)
		}
	}
	return others
}

// askAtOnce sends errands, and notes which of them are done.
func (f *flights) askAtOnce(ctx context.Context, conn *pgx.Conn, releases, takes []*request) error {
	e := f.engine
	statement, err := conn.Prepare(ctx, e.statements.atOnce, e.statements.atOnce)
	if err != nil {
		return notSent(err)
	}
	ended, ending := make([]string, len(releases)), make([]string, len(releases))
	for i, r := range releases {
		ended[i], ending[i] = r.errand.name, r.errand.owner
	}
	names, owners, holders := make([]string, len(takes)), make([]string, len(takes)), make([]string, len(takes))
	ttls, many := make([]time.Duration, len(takes)), make([]int32, len(takes))
	for i, r := range takes {
		names[i], owners[i], ttls[i], many[i], holders[i] = r.errand.name, r.errand.owner, r.errand.ttl, r.errand.many, r.errand.holder
	}
	values := encode([]any{ended, ending, names, owners, ttls, many, holders, e.maxTTL})
	row, err := only(conn.PgConn().ExecStatement(ctx, statement, values, binaryFormat, binaryFormat))
	if err != nil {
		prepareAnew(ctx, conn, e.statements.atOnce, err)
		return landed(err)
	}
	var said []*int64
	if err := decode(row, &said); err != nil {
		return err
	}
	if !readAtOnce(said, releases, takes) {
		return fmt.Errorf("postgres: %w", errNoAnswer)
	}
	return nil
}

// readAtOnce notes what at_once has answered, and reports whether that makes sense.
func readAtOnce(said []*int64, releases, takes []*request) bool {
	next := func() (n int64, ok bool) {
		if len(said) == 0 || said[0] == nil {
			return 0, false
		}
		n, said = *said[0], said[1:]
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
	if !ok || len(said) != len(taken) {
		return false
	}
	for _, i := range ended {
		errand := releases[max(i, -i)-1].errand
		errand.done, errand.held = true, i > 0
	}
	for _, i := range taken {
		token, ok := next()
		if !ok {
			return false
		}
		errand := takes[max(i, -i)-1].errand
		errand.done, errand.token = true, token
	}
	return true
}
