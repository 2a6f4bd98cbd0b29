package top

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

var update = flag.Bool("update", false, "write the pictures that are kept in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when tests begin.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// testModel is a model with helpers.
type testModel struct {
	*model
	t *testing.T
}

func newTestModel(t *testing.T, o Options) *testModel {
	t.Helper()
	if o.Engine == "" {
		o.Engine = "redis://10.0.0.7:6379"
	}
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	return &testModel{newModel(o, noon), t}
}

// startedRequests returns the requests that are to be started, by kind.
func (s *testModel) startedRequests() map[requestKind]request {
	s.t.Helper()
	all := map[requestKind]request{}
	for _, t := range s.startDue() {
		if _, twice := all[t.kind]; twice {
			s.t.Fatalf("two tasks of one sort: %+v", t)
		}
		all[t.kind] = t
	}
	return all
}

// start returns a request that must be among those to be started.
func (s *testModel) start(e requestKind) request {
	s.t.Helper()
	t, ok := s.startedRequests()[e]
	if !ok {
		s.t.Fatalf("request kind %d is not started", e)
	}
	return t
}

// advance lets time pass.
func (s *testModel) advance(d time.Duration) { s.now = s.now.Add(d) }

// press presses keys, and redraws after each.
func (s *testModel) press(keys ...string) {
	for _, k := range keys {
		s.model.press(k)
		s.scrollToSelected()
	}
}

// respond answers a listing as an engine would.
func (s *testModel) respond(a request, took time.Duration, all ...admin.Status) {
	p := snapshot{began: s.now, view: a.view, took: took}
	for _, st := range all {
		p.add(st)
	}
	p.finish()
	s.advance(took)
	s.noteResponse(response{request: a, snapshot: p})
	s.scrollToSelected()
}

// show lists statuses.
func (s *testModel) show(all ...admin.Status) {
	s.t.Helper()
	s.respond(s.start(listNames), 12*time.Millisecond, all...)
}

// lock returns the status of a lock that is held.
func lock(name, holder string, token uint64, left, age time.Duration, waiting int) admin.Status {
	return admin.Status{
		Key: driver.Key{Kind: driver.Lock, Name: name},
		Holders: []admin.Holder{{Token: token, Mode: driver.Exclusive, Weight: 1, Holder: holder, TTL: left,
			Age: age}},
		Waiting: waiting,
	}
}

// compare compares a screen with the one in testdata.
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
		t.Errorf("%s is not what it was; if it should be, go test -update writes it down\n%s\nwant\n%s", file, got,
			want)
	}
}
