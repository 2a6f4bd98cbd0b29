package exporter

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

var errSilent = errors.New("no answer")

// fill puts something of everything on the engine.
func (w *exporterTest) fill() {
	w.t.Helper()
	w.lock("order:1", "order")
	w.lock("order:2", "order")
	w.lock("plain", "")
	s := w.holder.Semaphore("rooms", 5, leasehold.Label("room"), leasehold.TTL(leasehold.MaxTTL))
	for range 2 {
		if _, err := s.TryAcquire(w.t.Context(), 2); err != nil {
			w.t.Fatal(err)
		}
	}
	for range 3 {
		other := leasehold.New(w.engine)
		w.t.Cleanup(func() { other.Close() })
		go other.Mutex("plain").Lock(w.t.Context())
	}
	synctest.Wait()
	w.engine.leaks = []driver.Leak{{Sort: driver.EndlessLease, Count: 1}, {Sort: driver.DeadWaiters, Count: 3},
		{Sort: driver.DeadWaiters}}
	w.engine.found = driver.Examination{
		Servers: []driver.Server{
			{Name: "10.0.0.1:6379", RoundTrip: 2 * time.Millisecond, Ahead: -3 * time.Second, HasClock: true},
			{Name: "10.0.0.2:6379", RoundTrip: -1, Closed: 48 * time.Second},
			{Name: "10.0.0.3:6379", RoundTrip: -1, Err: errSilent},
		},
		Findings: []driver.Finding{
			{Severity: driver.Critical, Code: "eviction-policy", Server: "10.0.0.1:6379"},
			{Severity: driver.Critical, Code: "eviction-policy", Server: "10.0.0.2:6379"},
			{Severity: driver.Note, Code: "old-version"},
		},
	}
}

func TestEverythingFoundIsExposed(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.fill()
		w.start()
		w.want(map[string]float64{
			"leasehold_up": 1,
			`leasehold_locks_held{kind="lock", resource="order"}`:             2,
			`leasehold_locks_held{kind="lock", resource="default"}`:           1,
			`leasehold_locks_held{kind="semaphore", resource="room"}`:         2,
			`leasehold_locks_held{kind="semaphore", resource="default"}`:      0,
			`leasehold_waiters{kind="lock"}`:                                  3,
			`leasehold_waiters{kind="semaphore"}`:                             0,
			`leasehold_waiters{kind="latch"}`:                                 0,
			`leasehold_leaks{sort="endless_lease"}`:                           1,
			`leasehold_leaks{sort="dead_waiters"}`:                            4,
			`leasehold_leaks{sort="endless_token"}`:                           0,
			`leasehold_leaks{sort="remains"}`:                                 0,
			`leasehold_node_up{node="10.0.0.1:6379"}`:                         1,
			`leasehold_node_up{node="10.0.0.2:6379"}`:                         1,
			`leasehold_node_up{node="10.0.0.3:6379"}`:                         0,
			`leasehold_node_quarantine_seconds{node="10.0.0.1:6379"}`:         0,
			`leasehold_node_quarantine_seconds{node="10.0.0.2:6379"}`:         48,
			`leasehold_node_round_trip_seconds{node="10.0.0.1:6379"}`:         0.002,
			`leasehold_node_clock_ahead_seconds{node="10.0.0.1:6379"}`:        -3,
			`leasehold_findings{code="eviction-policy", severity="critical"}`: 2,
			`leasehold_findings{code="old-version", severity="note"}`:         1,
		})
		// What is not known of a node is absent.
		w.wantNone(`leasehold_node_quarantine_seconds{node="10.0.0.3`,
			`leasehold_node_round_trip_seconds{node="10.0.0.2`,
			`leasehold_node_round_trip_seconds{node="10.0.0.3`, `leasehold_node_clock_ahead_seconds{node="10.0.0.2`)
		n := 0
		for series := range w.scrape() {
			if !strings.HasPrefix(series, "leasehold_findings") { // the library adds its own
				n++
			}
		}
		if n != 20 {
			t.Errorf("%d samples, want 20: %v", n, w.scrape())
		}
		if problems, err := testutil.CollectAndLint(w.w); err != nil || len(problems) != 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
		if len(w.logged) != 0 {
			t.Errorf("it said %q", w.logged)
		}
	})
}

// The document describes all metrics, and no others.
func TestTheDocumentHasAllMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/exporter.md")
	if err != nil {
		t.Fatal(err)
	}
	described := make(chan *prometheus.Desc, 100)
	new(Watcher).Describe(described)
	close(described)
	n := 0
	for d := range described {
		n++
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		labels := regexp.MustCompile(`variableLabels: {([\w,]*)}`).FindStringSubmatch(d.String())[1]
		if labels != "" {
			name += "{" + labels + "}"
		}
		if !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("docs/exporter.md does not describe %s", name)
		}
	}
	if rows := strings.Count(string(text), "\n| `leasehold_"); rows != n {
		t.Errorf("docs/exporter.md describes %d metrics, there are %d", rows, n)
	}
}

// What an engine does not support is absent, which is no failure.
func TestEnginesWithoutSupport(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.engine.examines, w.engine.leaky = false, false
		w.start()
		w.want(map[string]float64{"leasehold_up": 1, `leasehold_waiters{kind="lock"}`: 0})
		w.wantNone("leasehold_leaks", "leasehold_node", "leasehold_findings")
	})
}

func TestOnlyNamesWithThePrefix(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.lock("order:1", "")
		w.lock("other", "")
		w.w.Prefix = "order:"
		w.start()
		w.want(map[string]float64{`leasehold_locks_held{kind="lock", resource="default"}`: 1})
		for _, q := range w.engine.queries[1:] { // the first one is from the examination
			if q.Prefix != "order:" {
				t.Errorf("asked for prefix %q", q.Prefix)
			}
		}
	})
}

// Each part of a poll that worked is exposed, and the others are absent: no old value takes their place.
func TestAPartThatFails(t *testing.T) {
	for method, gone := range map[string][]string{
		"Walk":    {"leasehold_locks_held", "leasehold_waiters"},
		"Leaks":   {"leasehold_leaks"},
		"Examine": {"leasehold_node", "leasehold_findings"},
	} {
		t.Run(method, func(t *testing.T) {
			withExporter(t, func(t *testing.T, w *exporterTest) {
				w.fill()
				w.engine.found.Servers = w.engine.found.Servers[:2] // the ones that answer
				w.start()
				all := len(w.scrape())
				w.engine.fail(method, errSilent)
				time.Sleep(interval)
				synctest.Wait()
				w.want(map[string]float64{"leasehold_up": 0})
				w.wantNone(gone...)
				if n := len(w.scrape()); n < 3 || n >= all {
					t.Errorf("%d samples of %d are left", n, all)
				}
				time.Sleep(2 * interval)
				w.engine.fail(method, nil)
				time.Sleep(interval)
				synctest.Wait()
				w.want(map[string]float64{"leasehold_up": 1})
				if n := len(w.scrape()); n != all {
					t.Errorf("%d samples of %d are back", n, all)
				}
				// One line when it begins, and one when it is over.
				if len(w.logged) != 2 || !strings.HasSuffix(w.logged[0], "no answer") ||
					strings.Contains(w.logged[0], "leasehold") || !strings.Contains(w.logged[1], "again") {
					t.Errorf("it said %q", w.logged)
				}
			})
		})
	}
}

// A silent node is reported. The poll counts as successful, although the leaks on that node are unknown.
func TestLeaksOfASilentNode(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.fill()
		w.engine.fail("Leaks", errSilent)
		w.start()
		w.want(map[string]float64{"leasehold_up": 1, `leasehold_node_up{node="10.0.0.3:6379"}`: 0,
			`leasehold_waiters{kind="lock"}`: 3})
		w.wantNone("leasehold_leaks")
		w.engine.fail("Walk", errSilent)
		time.Sleep(interval)
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 0})
	})
}

// Anybody who may take a lock chooses its label. The number of series stays small, and their names valid.
func TestLabelsAreBounded(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.lock("first", "first")
		w.start()
		for i := range 200 {
			w.lock(fmt.Sprint("n", i), fmt.Sprint("label ", i))
		}
		w.lock("long", strings.Repeat("x", 500))
		time.Sleep(interval)
		synctest.Wait()
		labels, held := 0, 0.0
		for series, v := range w.scrape() {
			if strings.HasPrefix(series, `leasehold_locks_held{kind="lock"`) {
				labels++
				held += v
			}
		}
		if labels != maxResources+2 || held != 202 { // default and other
			t.Errorf("%d resources, %v held", labels, held)
		}
		w.want(map[string]float64{
			`leasehold_locks_held{kind="lock", resource="first"}`: 1,
			`leasehold_locks_held{kind="lock", resource="other"}`: 102,
		})
	})
}

func TestHoldersOfOtherMakers(t *testing.T) {
	t.Parallel()
	var r resources
	for holder, want := range map[string]string{
		"":                "default",
		"billing-3":       "default",
		"host:12 program": "default",
		"host:12 program " + strings.Repeat("x", 128): strings.Repeat("x", 128),
		"host:12 program " + strings.Repeat("x", 129): "other",
		"host:12 program order":                       "order",
		"host:12 program two words":                   "two words",
		"host:12 program \xff\xfe":                    "\uFFFD",
		"host:12 program order\n# HELP evil":          "order\n# HELP evil",
	} {
		if got := r.resourceOf(holder); got != want {
			t.Errorf("%q counts as %q, want %q", holder, got, want)
		}
	}
}
