package drivertest_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// asked changes the query of a walk.
func asked(change func(*driver.Query)) func(*operated) {
	return func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			change(&q)
			return well(ctx, q, visit)
		}
	}
}

// pieces changes what a walk reports.
func pieces(change func([]driver.Status) []driver.Status) func(*operated) {
	return func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			return well(ctx, q, func(piece []driver.Status) bool { return visit(change(piece)) })
		}
	}
}

// written changes what is recorded.
func written(change func(*driver.Removal)) func(*operated) {
	return func(o *operated) {
		well := o.record
		o.record = func(ctx context.Context, r driver.Removal) error {
			change(&r)
			return well(ctx, r)
		}
	}
}

// readBack changes the records that are read.
func readBack(change func([]driver.Removal) []driver.Removal) func(*operated) {
	return func(o *operated) {
		well := o.records
		o.records = func(ctx context.Context, limit int) ([]driver.Removal, error) {
			all, err := well(ctx, limit)
			return change(all), err
		}
	}
}

// operatorMutants break what operators rely on.
var operatorMutants = []mutant{
	{"walks on", "Walk/WalkEndsWhenTold", operate(func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			return well(ctx, q, func(piece []driver.Status) bool { visit(piece); return true })
		}
	})},
	{"says that it was interrupted when it was told to end", "Walk/WalkEndsWhenTold", operate(func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) (err error) {
			stopped := false
			err = well(ctx, q, func(piece []driver.Status) bool {
				stopped = !visit(piece)
				return !stopped
			})
			if stopped {
				err = context.Canceled
			}
			return err
		}
	})},
	{"walks after its context has ended", "Walk/WalkEndsWithItsContext", operate(func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			return well(context.WithoutCancel(ctx), q, visit)
		}
	})},
	{"walks half the way and returns nil", "Walk/WalkOfManyNames", operate(func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			told := 0
			return well(ctx, q,
				func(piece []driver.Status) bool { told += len(piece); return visit(piece) && told < 80 })
		}
	})},
	{"walks from one name to the next", "Walk/WalkTellsWhatListDoes",
		operate(asked(func(q *driver.Query) { q.Prefix = strings.TrimRight(q.Prefix, `*[\`) }))},
	{"walks in no order", "Walk/WalkOfManyNames",
		operate(pieces(func(p []driver.Status) []driver.Status { slices.Reverse(p); return p }))},
	{"tells twice", "Walk/WalkWhileOthersComeAndGo",
		operate(pieces(func(p []driver.Status) []driver.Status { return append(p, p[len(p)-1]) }))},
	{"misses some", "Walk/WalkWhileOthersComeAndGo",
		operate(pieces(func(p []driver.Status) []driver.Status { return p[rand.N(2):] }))},
	{"walks to the limit", "Walk/WalkTellsWhatListDoes", operate(func(o *operated) {
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			page, err := o.List(ctx, q)
			if len(page) > 0 {
				visit(page)
			}
			return err
		}
	})},
	{"walks without the queue", "Walk/WalkTellsWhatListDoes",
		operate(asked(func(q *driver.Query) { q.Queue = false }))},
	{"walks all kinds", "Walk/WalkTellsWhatListDoes", operate(asked(func(q *driver.Query) { q.Kind = 0 }))},
	{"walks from the start", "Walk/WalkOfManyNames", operate(asked(func(q *driver.Query) { q.After = driver.Key{} }))},
	{"walks past the name", "Walk/WalkTellsWhatListDoes",
		operate(asked(func(q *driver.Query) { q.Prefix, q.Name = max(q.Prefix, q.Name), "" }))},
	{"tells of nothing", "Walk/WalkTellsWhatListDoes", operate(func(o *operated) {
		well := o.walk
		o.walk = func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			visit(nil)
			return well(ctx, q, visit)
		}
	})},
	{"walks in silence", "Walk/WalkTellsHowFarItIs", operate(asked(func(q *driver.Query) { q.Progress = nil }))},
	{"tells each step", "Walk/WalkTellsHowFarItIs", operate(asked(func(q *driver.Query) {
		if tell, n := q.Progress, 0; tell != nil {
			q.Progress = func(searched int) { tell(searched - n); n = searched + 1 }
		}
	}))},

	{"reports held locks as leaks", "Leaks/UseIsNoLeak", operate(func(o *operated) {
		o.leaks = func(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
			page, err := o.List(ctx, q)
			for _, s := range page {
				visit(driver.Leak{Key: s.Key, Sort: driver.EndlessLease, Count: 1})
			}
			return err
		}
	})},
	{"reports waiters as leaks", "Leaks/UseIsNoLeak", operate(func(o *operated) {
		o.leaks = func(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
			page, err := o.List(ctx, q)
			for _, s := range page {
				if s.Waiting > 0 {
					visit(driver.Leak{Key: s.Key, Sort: driver.DeadWaiters, Count: s.Waiting})
				}
			}
			return err
		}
	})},
	{"reports leaks that do not exist", "Leaks/UseLeavesNoLeak", operate(func(o *operated) {
		o.leaks = func(_ context.Context, q driver.Query, visit func(driver.Leak) bool) error {
			visit(driver.Leak{Key: driver.Key{Kind: driver.Lock, Name: q.Prefix + "expired"}, Sort: driver.Remains,
				Count: 1})
			return nil
		}
	})},
	{"finds no leaks after its context has ended", "Leaks/LeaksEndsWithItsContext", operate(func(o *operated) {
		o.leaks = func(context.Context, driver.Query, func(driver.Leak) bool) error { return nil }
	})},
	{"says that it has swept", "Leaks/SweepOfNoLeak", operate(func(o *operated) {
		o.sweep = func(context.Context, driver.Leak) error { return nil }
	})},
	{"sweeps any holder", "Leaks/SweepOfNoLeak", operate(func(o *operated) {
		o.sweep = func(ctx context.Context, l driver.Leak) error {
			_ = o.ForceRelease(ctx, l.Key, l.Token)
			return driver.ErrNotHeld
		}
	})},

	{"records for itself", "Records/RecordsAreTheSameForAll",
		func(*memory.Engine) driver.Engine { return memory.New() }},
	{"records the oldest first", "Records/RecordsAreTheSameForAll",
		operate(readBack(func(all []driver.Removal) []driver.Removal { slices.Reverse(all); return all }))},
	{"records in the order of writing", "Records/RecordsAreTheSameForAll",
		operate(written(func(r *driver.Removal) { r.At = time.Now() }))},
	{"records the day", "Records/RecordsAreTheSameForAll",
		operate(written(func(r *driver.Removal) { r.At = r.At.Truncate(time.Millisecond) }))},
	{"records local time", "Records/RecordsAreTheSameForAll",
		operate(written(func(r *driver.Removal) { r.At = r.At.In(time.FixedZone("there", 3600)) }))},
	{"records no outcome", "Records/RecordsAreTheSameForAll",
		operate(written(func(r *driver.Removal) { r.Outcome = driver.Asked }))},
	{"records tokens as others count", "Records/RecordsAreTheSameForAll",
		operate(written(func(r *driver.Removal) { r.Token = uint64(float32(r.Token)) }))},
	{"records each time", "Records/RecordTakesTheOldOnesPlace",
		operate(written(func(r *driver.Removal) { r.ID += time.Now().String() }))},
	{"records what was first", "Records/RecordTakesTheOldOnesPlace", operate(func(o *operated) {
		well := o.record
		o.record = func(ctx context.Context, r driver.Removal) error {
			all, err := o.Engine.Records(ctx, 0)
			if slices.ContainsFunc(all, func(other driver.Removal) bool { return other.ID == r.ID }) {
				return err
			}
			return well(ctx, r)
		}
	})},
	{"records lines", "Records/RecordsOfAnyText",
		operate(written(func(r *driver.Removal) { r.Why, _, _ = strings.Cut(r.Why, "\n") }))},
	{"records short names", "Records/RecordsOfAnyText",
		operate(written(func(r *driver.Removal) { r.Name = r.Name[:min(len(r.Name), 255)] }))},
	{"shows all that is recorded", "Records/RecordsUpToALimit", operate(func(o *operated) {
		well := o.records
		o.records = func(ctx context.Context, _ int) ([]driver.Removal, error) { return well(ctx, 0) }
	})},
	{"shows the oldest of all that is recorded", "Records/RecordsUpToALimit", operate(func(o *operated) {
		well := o.records
		o.records = func(ctx context.Context, limit int) ([]driver.Removal, error) {
			all, err := well(ctx, 0)
			if limit > 0 {
				all = all[max(0, len(all)-limit):]
			}
			return all, err
		}
	})},
	{"keeps few records", "Records/TheLatestRecordsAreKept",
		operate(readBack(func(all []driver.Removal) []driver.Removal { return all[:min(len(all), 999)] }))},
	{"keeps the latest written", "Records/TheLatestRecordsAreKept", operate(func(o *operated) {
		well := o.record
		o.record = func(ctx context.Context, r driver.Removal) error {
			if all, err := o.Engine.Records(ctx, 0); err == nil && len(all) == driver.MaxRemovals {
				r.At = all[0].At.Add(time.Microsecond)
			}
			return well(ctx, r)
		}
	})},

	{"finds no place", "Examine/ServersOfAnExamination", operate(func(o *operated) {
		o.examine = examined(func(x *driver.Examination) { x.Servers = nil })
	})},
	{"finds a server that is down", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Err = driver.ErrSilent }))},
	{"finds a server that is closed", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Closed = time.Second }))},
	{"finds a server without a name", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Name = "" }))},
	{"finds a server twice", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Name = "a:1" }))},
	{"tells the password", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Name = "user:secret@b:1" }))},
	{"gives servers random names", "Examine/ServersOfAnExamination",
		operate(changeServer(func(s *driver.Server) { s.Name = time.Now().String() }))},
	{"finds no server that votes", "Examine/ServersOfAnExamination", operate(func(o *operated) {
		o.examine = examined(func(x *driver.Examination) { x.Servers[0].Votes = false })
	})},
	{"has a critical finding", "Examine/FindingsSayWhatToDo", operate(critical)},
	{"has a finding without a severity", "Examine/FindingsSayWhatToDo",
		operate(finding(func(f *driver.Finding) { f.Severity = 0 }))},
	{"has a finding with a bad code", "Examine/FindingsSayWhatToDo",
		operate(finding(func(f *driver.Finding) { f.Code = "No spare" }))},
	{"has a finding without a text", "Examine/FindingsSayWhatToDo",
		operate(finding(func(f *driver.Finding) { f.Text = "" }))},
	{"has a finding without a fix", "Examine/FindingsSayWhatToDo",
		operate(finding(func(f *driver.Finding) { f.Fix = "" }))},
	{"has a finding at an unknown server", "Examine/FindingsSayWhatToDo",
		operate(finding(func(f *driver.Finding) { f.Server = "c:1" }))},
	{"tries a lock", "Examine/ExamineChangesNothing", operate(func(o *operated) {
		o.examine = func(ctx context.Context) (driver.Examination, error) {
			page, _ := o.List(ctx, driver.Query{})
			for _, s := range page {
				_, _ = o.Take(ctx,
					driver.Request{Key: s.Key, Owner: "examiner", Size: 1, Weight: 1, TTL: time.Minute, Join: true})
			}
			return examineWell(ctx)
		}
	})},
	{"examines after its context has ended", "Examine/ExamineEndsWithItsContext", operate(func(o *operated) {
		o.examine = func(context.Context) (driver.Examination, error) { return examineWell(context.Background()) }
	})},
}
