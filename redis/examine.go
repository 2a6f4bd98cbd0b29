package redis

import (
	"context"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements [driver.Examiner]. Places are the masters, each followed by its replicas. An engine of [Open] asks the replicas, too; for
// one of [New], they are known by what their master says.
//
// It leaves two small scripts in the cache of each server, as all requests do, and changes nothing else.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.ears.closed() {
		return driver.Examination{}, errClosed
	}
	// What it sends cannot be left alone when ctx ends, but all of it can.
	x, err := within(ctx, math.MaxInt64, e.examine)
	if err != nil {
		return driver.Examination{}, noEffect(err)
	}
	return x, nil
}

func (e *Engine) examine(ctx context.Context) (driver.Examination, error) {
	ctx, cancel := early(ctx)
	defer cancel()
	masters, findings, err := e.masters(ctx)
	if err != nil {
		return driver.Examination{}, err
	}
	x := driver.Examination{Findings: findings}
	tell := func(v *visit) {
		x.Places = append(x.Places, v.place)
		x.Findings = append(append(x.Findings, e.judge(v)...), e.judgeWire(v.place.Name)...)
	}
	var all []*visit
	for i, followers := range e.followers(ctx, masters) {
		tell(masters[i])
		all = append(all, masters[i])
		for _, f := range followers {
			tell(f)
			all = append(all, f)
		}
	}
	x.Findings = append(x.Findings, e.judgeTogether(all)...)
	return x, nil
}

// judgeWire finds that others can listen to connections to a server, if the client is the engine's own.
func (e *Engine) judgeWire(address string) []driver.Finding {
	if e.far == nil || e.far.target.shape == unixSocket {
		return nil
	}
	weak := exposure.Weak(address, e.far.tls, e.far.target.password != "")
	if weak == nil {
		return nil
	}
	f := &findings{place: address}
	severity := driver.Note
	if weak.Exposed {
		severity = driver.Warning
	}
	f.add(severity, weak.Code, weak.Text, "TLS on the server (tls-port), and rediss or redlocks instead of redis or redlock in the URL")
	return f.all
}

// early is a context that ends before another one, so that there is time left to tell of servers that have not answered. It does not wait for them
// for longer than 3 s in any case.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := examining
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/3*2)
	}
	return context.WithTimeout(ctx, limit)
}

// examining is for how long an examination waits for servers.
const examining = 3 * time.Second
