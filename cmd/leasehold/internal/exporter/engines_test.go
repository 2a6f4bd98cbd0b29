package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// fakeEngine is an engine that can be examined, and whose answers a test sets.
type fakeEngine struct {
	driver.Engine
	driver.Unsupported
	examines, leaky bool

	mu      sync.Mutex
	walks   int
	fails   map[string]error // by method
	hang    chan struct{}    // a walk waits for it, whatever its context says
	found   driver.Examination
	leaks   []driver.Leak
	queries []driver.Query
}

func (p *fakeEngine) Abilities() driver.Abilities {
	a := p.Engine.Abilities()
	a.Walk = true
	return a
}

func (p *fakeEngine) countCall(method string, q driver.Query) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries = append(p.queries, q)
	return p.fails[method]
}

// Walk implements driver.Operator.
func (p *fakeEngine) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	p.mu.Lock()
	p.walks++
	hang := p.hang
	p.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if err := p.countCall("Walk", q); err != nil {
		return err
	}
	all, err := p.List(ctx, q)
	if len(all) > 0 {
		visit(all)
	}
	return err
}

// Leaks implements driver.Operator.
func (p *fakeEngine) Leaks(_ context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	if !p.leaky {
		return driver.ErrUnsupported
	}
	if err := p.countCall("Leaks", q); err != nil {
		return err
	}
	for _, l := range p.leaks {
		visit(l)
	}
	return nil
}

// Sweep implements driver.Operator.
func (p *fakeEngine) Sweep(context.Context, driver.Leak) error {
	return errors.New("an exporter changes nothing")
}

// Examine implements driver.Operator.
func (p *fakeEngine) Examine(context.Context) (driver.Examination, error) {
	if !p.examines {
		return driver.Examination{}, driver.ErrUnsupported
	}
	return p.found, p.countCall("Examine", driver.Query{})
}

func (p *fakeEngine) fail(method string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails == nil {
		p.fails = map[string]error{}
	}
	p.fails[method] = err
}

func (p *fakeEngine) lookCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.walks
}

// exporterTest is a watcher of a fakeEngine, in virtual time.
type exporterTest struct {
	t      *testing.T
	engine *fakeEngine
	w      *Watcher
	web    http.Handler
	logged []string
	// holder is a client that takes locks.
	holder *leasehold.Client
}

const interval, timeout = 15 * time.Second, 10 * time.Second

// withExporter runs a test in virtual time. The watcher has not been started yet.
func withExporter(t *testing.T, test func(t *testing.T, w *exporterTest)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &exporterTest{t: t, engine: &fakeEngine{Engine: memory.New(), examines: true, leaky: true}}
		w.holder = leasehold.New(w.engine)
		t.Cleanup(func() { w.holder.Close() })
		w.w = &Watcher{
			Interval: interval, Timeout: timeout,
			Open: func() (*admin.Client, func(), error) { return admin.New(w.engine), func() {}, nil },
			Log:  func(format string, args ...any) { w.logged = append(w.logged, fmt.Sprintf(format, args...)) },
		}
		w.web = handler(w.w)
		test(t, w)
	})
}

// start starts the watcher, and waits for the end of the first poll.
func (w *exporterTest) start() {
	w.t.Cleanup(w.w.Start())
	synctest.Wait()
}

// get requests a page.
func (w *exporterTest) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRecorder()
	w.web.ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	return r
}

// samples returns what is exposed.
func (w *exporterTest) samples() (all model.Vector) {
	w.t.Helper()
	r := w.get("/metrics")
	if r.Code != http.StatusOK {
		w.t.Fatalf("status %d: %s", r.Code, r.Body)
	}
	decoder := expfmt.SampleDecoder{Opts: &expfmt.DecodeOptions{},
		Dec: expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header()))}
	for {
		var some model.Vector // of one metric
		if err := decoder.Decode(&some); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, some...)
	}
}

// scrape returns the samples by series.
func (w *exporterTest) scrape() map[string]float64 {
	w.t.Helper()
	samples := map[string]float64{}
	for _, s := range w.samples() {
		samples[s.Metric.String()] = float64(s.Value)
	}
	return samples
}

// want expects these samples among others.
func (w *exporterTest) want(want map[string]float64) {
	w.t.Helper()
	got := w.scrape()
	for series, v := range want {
		if is, ok := got[series]; !ok || is != v {
			w.t.Errorf("%s is %v (exposed: %v), want %v", series, is, ok, v)
		}
	}
}

// wantNone expects that no series begins with any of the prefixes.
func (w *exporterTest) wantNone(prefixes ...string) {
	w.t.Helper()
	for series, v := range w.scrape() {
		for _, p := range prefixes {
			if strings.HasPrefix(series, p) {
				w.t.Errorf("%s is %v, want none", series, v)
			}
		}
	}
}

// lock takes a lock as a process with that label would.
func (w *exporterTest) lock(name, label string) *leasehold.Lease {
	w.t.Helper()
	lease, err := w.holder.Mutex(name, leasehold.Label(label), leasehold.TTL(leasehold.MaxTTL)).TryLock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return lease
}

// slowEngine is a fakeEngine whose Walk never ends by itself, but heeds its context.
type slowEngine struct{ *fakeEngine }

func (s *slowEngine) Walk(ctx context.Context, _ driver.Query, _ func([]driver.Status) bool) error {
	<-ctx.Done()
	return ctx.Err()
}
