package drivertest_test

import (
	"context"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// operated is an engine with all abilities that operators use. Functions that are set replace the
// default ones.
type operated struct {
	*memory.Engine
	walk    func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error
	leaks   func(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error
	sweep   func(ctx context.Context, l driver.Leak) error
	record  func(ctx context.Context, r driver.Removal) error
	records func(ctx context.Context, limit int) ([]driver.Removal, error)
	examine func(ctx context.Context) (driver.Examination, error)
}

// operate returns an engine that is changed by f, which may be nil.
func operate(f func(*operated)) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine {
		o := &operated{
			Engine:  e,
			walk:    walkIn(e, 4),
			leaks:   func(ctx context.Context, _ driver.Query, _ func(driver.Leak) bool) error { return ctx.Err() },
			sweep:   func(context.Context, driver.Leak) error { return driver.ErrNotHeld },
			record:  e.Record,
			records: e.Records,
			examine: examineWell,
		}
		if f != nil {
			f(o)
		}
		return o
	}
}

func (o *operated) Abilities() driver.Abilities {
	can := o.Engine.Abilities()
	can.Walk = true
	return can
}

func (o *operated) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return o.walk(ctx, q, visit)
}

func (o *operated) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	return o.leaks(ctx, q, visit)
}

func (o *operated) Sweep(ctx context.Context, l driver.Leak) error          { return o.sweep(ctx, l) }
func (o *operated) Record(ctx context.Context, r driver.Removal) error      { return o.record(ctx, r) }
func (o *operated) Examine(ctx context.Context) (driver.Examination, error) { return o.examine(ctx) }

func (o *operated) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return o.records(ctx, limit)
}

// walkIn walks in pieces.
func walkIn(e *memory.Engine, piece int) func(context.Context, driver.Query, func([]driver.Status) bool) error {
	return func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
		q.Limit = piece
		for searched := 0; ctx.Err() == nil; {
			page, err := e.List(ctx, q)
			if q.Progress != nil {
				searched += len(page)
				q.Progress(searched)
			}
			if err != nil || len(page) == 0 || !visit(page) {
				return err
			}
			q.After = page[len(page)-1].Key
		}
		return ctx.Err()
	}
}

func examineWell(ctx context.Context) (driver.Examination, error) {
	return driver.Examination{
		Servers: []driver.Server{{Name: "a:1", Votes: true}, {Name: "b:1", Role: "replica"}},
		Findings: []driver.Finding{{Severity: driver.Warning, Code: "no-spare", Server: "b:1",
			Text: "There is one replica.", Fix: "Add another."}},
	}, ctx.Err()
}

// An engine with all of these abilities passes, also behind a Faulty, which passes everything on.
func TestEngineWithAllAbilities(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, func(e *memory.Engine) driver.Engine {
		return drivertest.NewFaulty(operate(nil)(e), func(drivertest.Op) drivertest.Fault { return drivertest.Fault{} })
	}))
}

// A critical finding that is known is no failure.
func TestKnownFindings(t *testing.T) {
	t.Parallel()
	h := on(t, operate(critical))
	h.KnownFindings = []string{"no-disk"}
	drivertest.Run(t, h)
}

func critical(o *operated) {
	o.examine = examined(func(x *driver.Examination) {
		x.Findings = append(x.Findings,
			driver.Finding{Severity: driver.Critical, Code: "no-disk", Text: "There is no disk.", Fix: "Buy one."})
	})
}

func examined(change func(*driver.Examination)) func(context.Context) (driver.Examination, error) {
	return func(ctx context.Context) (driver.Examination, error) {
		x, err := examineWell(ctx)
		change(&x)
		return x, err
	}
}

// changeServer changes the second server.
func changeServer(change func(*driver.Server)) func(*operated) {
	return func(o *operated) { o.examine = examined(func(x *driver.Examination) { change(&x.Servers[1]) }) }
}

func finding(change func(*driver.Finding)) func(*operated) {
	return func(o *operated) { o.examine = examined(func(x *driver.Examination) { change(&x.Findings[0]) }) }
}
