package leaseholdprometheus_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/deployfiles"
)

// A real Prometheus scrapes a program under contention, and the shipped rule fires: once with classic histograms, and
// once with native ones, for which the server drops the classic ones. Another resource, for which nobody waits, gives
// no alert. Then each query of the dashboard is run.
func TestWaitAlertFires(t *testing.T) {
	t.Parallel()
	for form, flags := range map[string][]string{"classic": nil, "native": {"--enable-feature=native-histograms"}} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c := newCountedClient(t, "order", "quiet")
			target := httptest.NewServer(promhttp.HandlerFor(c, promhttp.HandlerOpts{}))
			defer target.Close()
			s := startServer(t, fmt.Sprintf(config, fastRules(t), target.Listener.Addr()), flags...)
			contend(t, c)
			var seen []alert
			for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
				seen = s.alerts(t)
				if fmt.Sprint(seen) == "[LockWaitLong of order is firing]" {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the alerts are %v, want one of order that is firing", seen)
				}
			}
			if buckets := s.query(t, "distributed_lock_wait_seconds_bucket"); (buckets == 0) != (form == "native") {
				t.Errorf("the server has %d classic buckets", buckets)
			}
			queryDashboard(t, s)
		})
	}
}

// config makes the server scrape often.
const config = `global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 300ms
rule_files: ['%s']
scrape_configs:
  - job_name: orders
    static_configs:
      - targets: ['%s']
`

var forLine = regexp.MustCompile(`(?m)^( +for:) \w+$`)

// fastRules returns a copy of the shipped rules in which an alert fires after it was pending for less than a second.
// Everything else is unchanged.
func fastRules(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile(filepath.Join(deploy, "alerts.yaml"))
	noErr(t, err)
	if !forLine.Match(rules) {
		t.Fatal("no rule has a time for which it is pending")
	}
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	noErr(t, os.WriteFile(file, forLine.ReplaceAll(rules, []byte("$1 500ms")), 0o600))
	return file
}

// contend has three callers want the same lock and hold it for more than half a second each, and a fourth caller use
// another lock alone. It goes on until the end of the test.
func contend(t *testing.T, c *countedClient) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
	busy := func(m *leasehold.Mutex, hold time.Duration) {
		work.Go(func() {
			for ctx.Err() == nil {
				_ = m.Do(ctx, func(context.Context, *leasehold.Lease) error { // it fails at the end of the test
					pause(ctx, hold)
					return nil
				})
				pause(ctx, time.Millisecond)
			}
		})
	}
	for range 3 {
		busy(c.client.Mutex("order:1", leasehold.Label("order")), 700*time.Millisecond)
	}
	busy(c.client.Mutex("quiet:1", leasehold.Label("quiet")), 10*time.Millisecond)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// queryDashboard sends the queries of the dashboard, and expects an answer to all that are about programs.
func queryDashboard(t *testing.T, s *server) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, "dashboard.json"))
	noErr(t, err)
	d, err := deployfiles.Parse(text)
	noErr(t, err)
	variables := strings.NewReplacer("$job", ".*", "$resource", ".*", "$exporter", ".*", "$__rate_interval", "1m")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			n := s.query(t, variables.Replace(target.Expr))
			if strings.Contains(target.Expr, "distributed_lock_") && n == 0 {
				t.Errorf("panel %q shows nothing for %s", p.Title, target.Expr)
			}
		}
	}
}
