package leaseholdprometheus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
)

// grant counts one grant under a label.
func grant(m *leaseholdprometheus.Metrics, label string) {
	m.ObserveGrant(leasehold.Granted{About: leasehold.About{Name: "order:1", Label: label}})
}

// All series of the given resources exist from the start, as zero.
func TestSeriesAreThereBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	families, err := c.Gather()
	noErr(t, err)
	n := map[string]int{}
	for _, f := range families {
		n[strings.TrimPrefix(f.GetName(), "distributed_lock_")] = len(f.GetMetric())
	}
	want := map[string]int{
		"wait_seconds": 1, "hold_seconds": 1, "renewal_slack_seconds": 1, "held": 1, "waiters": 1, "in_danger_total": 1,
		"fencing_rejections_total": 1,
		"grants_total":             2, "failures_total": 11, "renewals_total": 3, "releases_total": 3, "lost_total": 5,
	}
	if !maps.Equal(n, want) {
		t.Errorf("there are %v series, want %v", n, want)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t)
	grants := func(resource string) float64 {
		return c.value(t, "grants_total", "resource", resource, "source", "engine")
	}
	grant(c.metrics, "")
	grant(c.metrics, "default")
	grant(c.metrics, "bad\xff")
	if grants("default") != 2 || grants("bad�") != 1 {
		t.Errorf("without a label %v, bad %v", grants("default"), grants("bad�"))
	}
	for i := range 3 * leaseholdprometheus.MaxResources {
		grant(c.metrics, fmt.Sprint("order:", i)) // a name was used as a label
	}
	grant(c.metrics, "other")
	families, err := c.Gather()
	noErr(t, err)
	for _, f := range families {
		// default has two labels, and other is one more
		if n := len(f.GetMetric()); f.GetName() == "distributed_lock_held" && n != leaseholdprometheus.MaxResources {
			t.Errorf("%d resources are counted by themselves", n)
		}
	}
	known := 3 // "", default and bad, which came first
	if got, want := grants("other"), float64(2*leaseholdprometheus.MaxResources+known+1); got != want {
		t.Errorf("%v grants are counted as other, want %v", got, want)
	}
}

// No label contains a name.
func TestNamesAreNoLabels(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		lease, err := c.client.Mutex("secret-name").Lock(t.Context())
		noErr(t, err)
		noErr(t, lease.Release())
		families, err := c.Gather()
		noErr(t, err)
		if text := fmt.Sprint(families); strings.Contains(text, "secret-name") {
			t.Error("the name of a lock is in the metrics")
		}
	})
}

// ownerRecorder is an engine that records the owners it was given.
type ownerRecorder struct {
	*memory.Engine
	owners []string
}

func (e *ownerRecorder) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	e.owners = append(e.owners, r.Owner)
	return e.Engine.Take(ctx, r)
}

// Neither the secret of an owner nor a holder text is in the metrics, whatever happens.
func TestOwnersAreNoLabels(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		e := &ownerRecorder{Engine: memory.New()}
		client := leasehold.New(e, leasehold.WithObserver(c.metrics))
		defer client.Close()
		lease, err := client.Mutex("a").Lock(t.Context())
		noErr(t, err)
		if _, err := client.Mutex("a").TryLock(t.Context()); err == nil {
			t.Error("held twice")
		}
		noErr(t, admin.New(e).ForceRelease(t.Context(), driver.Lock, "a", lease.Token()))
		<-lease.Context().Done()
		if lease.Release() == nil || len(e.owners) == 0 {
			t.Fatal("the test has not made the client fail, or knows of no owner")
		}
		families, err := c.Gather()
		noErr(t, err)
		host, err := os.Hostname()
		noErr(t, err)
		for _, secret := range append(e.owners, host) {
			if strings.Contains(fmt.Sprint(families), secret) {
				t.Errorf("%q is in the metrics", secret)
			}
		}
	})
}

// Classic buckets, for all servers, and native ones, for servers that want them.
func TestHistogramsAreOfBothKinds(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	for _, waited := range []time.Duration{50 * time.Microsecond, 700 * time.Microsecond, 1200 * time.Millisecond} {
		c.metrics.ObserveGrant(leasehold.Granted{About: leasehold.About{Label: "order"}, Waited: waited})
	}
	h := c.series(t, "wait_seconds", map[string]string{"resource": "order"}).GetHistogram()
	upTo := map[float64]uint64{}
	for _, b := range h.GetBucket() {
		upTo[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	if upTo[0.0001] != 1 || upTo[0.001] != 2 || upTo[1] != 2 || upTo[2.5] != 3 {
		t.Errorf("classic buckets: %v", upTo)
	}
	if spans(h) != 3 {
		t.Errorf("%d native buckets are in use, want 3", spans(h))
	}
}

func spans(h *dto.Histogram) (n uint32) {
	for _, s := range h.GetPositiveSpan() {
		n += s.GetLength()
	}
	return n
}

func TestRegistering(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	var already prometheus.AlreadyRegisteredError
	for _, again := range []prometheus.Collector{c.metrics, leaseholdprometheus.New()} {
		if err := c.Register(again); !errors.As(err, &already) || already.ExistingCollector != c.metrics {
			t.Errorf("a second registration: %v", err)
		}
	}
	grant(c.metrics, "order")
	if !c.Unregister(c.metrics) {
		t.Error("not unregistered")
	}
	grant(c.metrics, "order")
	noErr(t, c.Register(c.metrics))
	if n := c.value(t, "held"); n != 2 {
		t.Errorf("%v are held after registering again, want 2", n)
	}
}

// Two engines are distinguished by a label of the caller.
func TestTwoInOneRegistry(t *testing.T) {
	t.Parallel()
	c := &countedClient{Registry: prometheus.NewPedanticRegistry()}
	for engine, grants := range map[string]int{"a": 1, "b": 2} {
		m := leaseholdprometheus.New("order")
		noErr(t, prometheus.WrapRegistererWith(prometheus.Labels{"engine": engine}, c).Register(m))
		for range grants {
			grant(m, "order")
		}
	}
	if a, b := c.value(t, "held", "engine", "a"), c.value(t, "held", "engine", "b"); a != 1 || b != 2 {
		t.Errorf("the one holds %v, the other %v", a, b)
	}
}

func TestTwoClientsAreCountedTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		other := c.newClient(t)
		for i, client := range []*leasehold.Client{c.client, other} {
			_, err := client.Mutex(fmt.Sprint(i), leasehold.Label("order")).Lock(t.Context())
			noErr(t, err)
		}
		c.want(t, "with two clients", map[series]float64{{"held", "", ""}: 2})
		noErr(t, other.Close())
		c.want(t, "with one", map[series]float64{{"held", "", ""}: 1})
	})
}

// Many goroutines use many resources for the first time, while others collect.
func TestConcurrentEvents(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t)
	const each = 200
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for i := range each {
				grant(c.metrics, fmt.Sprint((g+i)%20))
			}
		})
	}
	work.Go(func() {
		for range 20 {
			if _, err := c.Gather(); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	var sum float64
	for i := range 20 {
		sum += c.value(t, "grants_total", "resource", fmt.Sprint(i), "source", "engine")
	}
	if sum != 8*each {
		t.Errorf("%v grants are counted, want %d", sum, 8*each)
	}
}

func TestEventsCostNoMemory(t *testing.T) {
	m := leaseholdprometheus.New("order")
	about := leasehold.About{Name: "order:1", Label: "order"}
	lost := &leasehold.Error{Op: "lock", Err: leasehold.ErrTimeout}
	for name, event := range map[string]func(){
		"wait":   func() { m.ObserveWait(leasehold.Waiting{About: about}) },
		"grant":  func() { m.ObserveGrant(leasehold.Granted{About: about, Waited: time.Second, AfterWait: true}) },
		"fail":   func() { m.ObserveFail(leasehold.Failed{About: about, Err: lost}) },
		"renew":  func() { m.ObserveRenew(leasehold.Renewed{About: about, Slack: time.Second}) },
		"danger": func() { m.ObserveDanger(leasehold.InDanger{About: about}) },
		"lost": func() {
			m.ObserveLost(leasehold.Lost{About: about, How: leasehold.LossRefused, Held: time.Second})
		},
		"release": func() { m.ObserveRelease(leasehold.Released{About: about, Held: time.Second}) },
		"fast":    func() { m.ObserveGrant(leasehold.Granted{About: about, Waited: time.Microsecond}) },
	} {
		if n := testing.AllocsPerRun(100, event); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNamesKeepToTheRulesOfPrometheus(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	problems, err := testutil.GatherAndLint(c)
	noErr(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
