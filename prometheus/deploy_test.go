package leaseholdprometheus_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/leasehold-go/leasehold/internal/deployfiles"
)

// text is what the metrics expose.
func (c *countedClient) text(t *testing.T) string {
	t.Helper()
	families, err := c.Gather()
	noErr(t, err)
	var b strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&b, f)
		noErr(t, err)
	}
	return b.String()
}

// Everything that the rules and the dashboard query about programs is exported: each metric, each label, each value.
func TestWhatIsShippedAsksForWhatIsExported(t *testing.T) {
	t.Parallel()
	uses, err := deployfiles.Read(deploy)
	noErr(t, err)
	families, err := newCountedClient(t, "order").Gather()
	noErr(t, err)
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
	noErr(t, err)
	var metrics []model.Metric
	for _, s := range samples {
		metrics = append(metrics, s.Metric)
	}
	exported := deployfiles.SeriesOf(metrics)
	for _, m := range exported.Missing(uses, "distributed_lock_") {
		t.Error(m)
	}
	asked := map[string]bool{}
	for _, u := range uses {
		asked[strings.TrimSuffix(u.Metric, "_bucket")] = true
	}
	for metric := range exported {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			metric = strings.TrimSuffix(metric, suffix)
		}
		if !asked[metric] {
			t.Errorf("neither rules nor dashboard show %s", metric)
		}
	}
}

// The document that describes the metrics has all of them.
func TestEachMetricIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	noErr(t, err)
	families, err := newCountedClient(t, "order").Gather()
	noErr(t, err)
	for _, f := range families {
		if !bytes.Contains(page, []byte("`"+f.GetName()+"`")) {
			t.Errorf("docs/metrics.md does not name %s", f.GetName())
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !bytes.Contains(page, []byte("`"+l.GetName()+"`")) || l.GetName() != "resource" &&
					!bytes.Contains(page, []byte("`"+l.GetValue()+"`")) {
					t.Errorf("docs/metrics.md does not name label %s=%s of %s", l.GetName(), l.GetValue(), f.GetName())
				}
			}
		}
	}
	rules, err := os.ReadFile(filepath.Join(deploy, "alerts.yaml"))
	noErr(t, err)
	for _, a := range alertNames.FindAllSubmatch(rules, -1) {
		if !bytes.Contains(page, []byte("`"+string(a[1])+"`")) {
			t.Errorf("docs/metrics.md does not name the alert %s", a[1])
		}
	}
}

var alertNames = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)

// promtool runs promtool in the folder of the shipped files, and expects success.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need(t, "promtool"), args...)
	cmd.Dir, cmd.Stdin = deploy, strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// Each alert fires when it should, and does not when it should not.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "", "check", "rules", "alerts.yaml")
	promtool(t, "", "test", "rules", "alerts_test.yaml")
}

// Each alert has a test for both.
func TestEachRuleIsTestedBothWays(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join(deploy, "alerts.yaml"))
	noErr(t, err)
	tests, err := os.ReadFile(filepath.Join(deploy, "alerts_test.yaml"))
	noErr(t, err)
	names := alertNames.FindAllSubmatch(rules, -1)
	if len(names) < 10 {
		t.Errorf("only %d alerts were found", len(names))
	}
	for _, name := range names {
		fires := regexp.MustCompile(`alertname: ` + string(name[1]) +
			`\n +eval_time: .*\n +exp_alerts:\n +- exp_labels: `)
		silent := regexp.MustCompile(`alertname: ` + string(name[1]) + `(,|\n) +eval_time: .*(\n +| )exp_alerts: \[\]`)
		if !fires.Match(tests) || !silent.Match(tests) {
			t.Errorf("%s is seen to fire: %v, to be silent: %v", name[1], fires.Match(tests), silent.Match(tests))
		}
	}
}

// The names follow the rules of Prometheus, according to its own tool, and the configuration is valid.
func TestPromtoolAccepts(t *testing.T) {
	t.Parallel()
	promtool(t, newCountedClient(t, "order").text(t), "check", "metrics")
	promtool(t, "", "check", "config", "prometheus.yaml")
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deploy, "dashboard.json"))
	noErr(t, err)
	d, err := deployfiles.Parse(text)
	noErr(t, err)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 38 { // the schema of Grafana 10
		t.Errorf("uid %q, title %q, schema %d", d.UID, d.Title, d.SchemaVersion)
	}
	variables := map[string]string{"__rate_interval": "built in"}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
	}
	if variables["datasource"] != "datasource" {
		t.Errorf("the data source is no variable: %v", variables)
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	cells := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d %q is there twice, or has no title", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panels %q and %q lie upon each other, or beyond the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q: description %q, data source %q, %d queries", p.Title, p.Description, p.Datasource.UID,
				len(p.Targets))
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || target.RefID == "" {
				t.Errorf("panel %q: query %q of data source %q", p.Title, target.RefID, target.Datasource.UID)
			}
			for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if variables[v[1]] == "" {
					t.Errorf("panel %q: there is no variable %s", p.Title, v[1])
				}
			}
		}
	}
}
