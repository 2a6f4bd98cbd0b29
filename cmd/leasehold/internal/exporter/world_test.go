package exporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// place is an engine that can be examined, and that can be told what to answer.
type place struct {
	driver.Engine
	examines, leaky bool

	mu      sync.Mutex
	walks   int
	fails   map[string]error // by method
	hang    chan struct{}    // a walk waits for it, whatever its context says
	found   driver.Examination
	leaks   []driver.Leak
	queries []driver.Query
}

func (p *place) Abilities() driver.Abilities {
	a := p.Engine.Abilities()
	a.Walk, a.Examine, a.Leaks = true, p.examines, p.leaky
	return a
}

func (p *place) enter(method string, q driver.Query) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries = append(p.queries, q)
	return p.fails[method]
}

// Walk implements driver.Walker.
func (p *place) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	p.mu.Lock()
	p.walks++
	hang := p.hang
	p.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if err := p.enter("Walk", q); err != nil {
		return err
	}
	all, err := p.List(ctx, q)
	if len(all) > 0 {
		visit(all)
	}
	return err
}

// Leaks implements driver.Sweeper.
func (p *place) Leaks(_ context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	if err := p.enter("Leaks", q); err != nil {
		return err
	}
	for _, l := range p.leaks {
		visit(l)
	}
	return nil
}

// Sweep implements driver.Sweeper.
func (p *place) Sweep(context.Context, driver.Leak) error {
	return errors.New("an exporter changes nothing")
}

// Examine implements driver.Examiner.
func (p *place) Examine(context.Context) (driver.Examination, error) {
	return p.found, p.enter("Examine", driver.Query{})
}

func (p *place) fail(method string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails == nil {
		p.fails = map[string]error{}
	}
	p.fails[method] = err
}

func (p *place) looks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.walks
}

// world is a watcher of a place, in virtual time.
type world struct {
	t    *testing.T
	at   *place
	w    *Watcher
	web  http.Handler
	said []string
	// holder is a program that takes locks.
	holder *leasehold.Client
}

const interval, timeout = 15 * time.Second, 10 * time.Second

// inWorld runs a test in virtual time. The watcher has not been started yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, at: &place{Engine: memory.New(), examines: true, leaky: true}}
		w.holder = leasehold.New(w.at)
		t.Cleanup(func() { w.holder.Close() })
		w.w = &Watcher{
			Interval: interval, Timeout: timeout,
			Open: func() (*leasehold.Client, func(), error) {
				c := leasehold.New(w.at)
				return c, func() { c.Close() }, nil
			},
			Say: func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
		}
		w.web = handler(w.w)
		test(t, w)
	})
}

// start starts to look, and waits for the end of the first look.
func (w *world) start() {
	w.t.Cleanup(w.w.Start())
	synctest.Wait()
}

// get asks the server.
func (w *world) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRecorder()
	w.web.ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	return r
}

// scrape returns the samples by series.
func (w *world) scrape() map[string]float64 {
	w.t.Helper()
	r := w.get("/metrics")
	if r.Code != http.StatusOK {
		w.t.Fatalf("status %d: %s", r.Code, r.Body)
	}
	samples := map[string]float64{}
	for line := range strings.Lines(r.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		samples[line[:at]] = v
	}
	return samples
}

// want expects these samples among others.
func (w *world) want(want map[string]float64) {
	w.t.Helper()
	got := w.scrape()
	for series, v := range want {
		if is, ok := got[series]; !ok || is != v {
			w.t.Errorf("%s is %v (told: %v), want %v", series, is, ok, v)
		}
	}
}

// wantNone expects that no series begins so.
func (w *world) wantNone(prefixes ...string) {
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
func (w *world) lock(name, label string) *leasehold.Lease {
	w.t.Helper()
	lease, err := w.holder.Mutex(name, leasehold.Label(label), leasehold.TTL(leasehold.MaxTTL)).TryLock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return lease
}

// slow is a place that takes for ever, but heeds its context.
type slow struct{ *place }

func (s *slow) Walk(ctx context.Context, _ driver.Query, _ func([]driver.Status) bool) error {
	<-ctx.Done()
	return ctx.Err()
}
