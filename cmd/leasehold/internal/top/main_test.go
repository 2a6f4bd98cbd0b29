package top

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

var update = flag.Bool("update", false, "write the pictures that are kept in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when tests begin.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// stage is a model that has been shown something.
type stage struct {
	*model
	t *testing.T
}

func newStage(t *testing.T, o Options) *stage {
	t.Helper()
	if o.Engine == "" {
		o.Engine = "redis://10.0.0.7:6379"
	}
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	return &stage{newModel(o, noon), t}
}

// started returns the tasks that are to be started, by what they are for.
func (s *stage) started() map[errand]task {
	s.t.Helper()
	all := map[errand]task{}
	for _, t := range s.tasks() {
		if _, twice := all[t.errand]; twice {
			s.t.Fatalf("two tasks of one sort: %+v", t)
		}
		all[t.errand] = t
	}
	return all
}

// start returns a task that has to be among those that are to be started.
func (s *stage) start(e errand) task {
	s.t.Helper()
	t, ok := s.started()[e]
	if !ok {
		s.t.Fatalf("errand %d is not started", e)
	}
	return t
}

// pass lets time go by.
func (s *stage) pass(d time.Duration) { s.now = s.now.Add(d) }

// press presses keys, and shows what comes of it.
func (s *stage) press(keys ...string) {
	for _, k := range keys {
		s.model.press(k)
		s.settle()
	}
}

// seen answers a look with what an engine would have found.
func (s *stage) seen(a task, took time.Duration, all ...leasehold.Status) {
	p := picture{began: s.now, view: a.view, took: took}
	for _, st := range all {
		p.add(st)
	}
	p.finish()
	s.pass(took)
	s.take(answer{task: a, picture: p})
	s.settle()
}

// show has a model show statuses.
func (s *stage) show(all ...leasehold.Status) {
	s.t.Helper()
	s.seen(s.start(looking), 12*time.Millisecond, all...)
}

// lock is a lock that somebody holds.
func lock(name, holder string, token uint64, left, age time.Duration, waiting int) leasehold.Status {
	return leasehold.Status{
		Key:     driver.Key{Kind: leasehold.KindLock, Name: name},
		Holders: []leasehold.Holder{{Token: token, Mode: driver.Exclusive, Weight: 1, Holder: holder, TTL: left, Age: age}},
		Waiting: waiting,
	}
}

// compare compares a screen with the one that is kept.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was; if it should be, go test -update writes it down\n%s\nwant\n%s", file, got, want)
	}
}
