package deployfiles

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const rules = `groups:
  - name: g
    rules:
      - alert: Long
        expr: |
          histogram_quantile(0.99, sum by (job, resource, le) (rate(distributed_lock_wait_seconds_bucket{resource!="idle"}[5m]))) > 1
        annotations:
          summary: 'class {{ $labels.resource }}: {{ $value }}'
      - alert: Down
        expr: leasehold_node_up{node=~"a|b"} == 0
`

const dashboard = `{"panels": [{"title": "Held", "targets": [{"expr": "sum by (kind) (leasehold_locks_held{kind=~\"$kind\"})", "legendFormat": "{{kind}} {{node}}"}]}],
"templating": {"list": [{"name": "kind", "definition": "label_values(leasehold_locks_held, kind)"}, {"name": "datasource", "query": "prometheus"}]}}`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	uses, err := Read(folder(t, map[string]string{"alerts.yaml": rules, "dashboard.json": dashboard}))
	if err != nil {
		t.Fatal(err)
	}
	want := []MetricUse{
		{"alerts.yaml, Long", "distributed_lock_wait_seconds_bucket", []Match{{"resource", "!=", "idle"}},
			[]string{"job", "resource", "le", "resource"}},
		{"alerts.yaml, Down", "leasehold_node_up", []Match{{"node", "=~", "a|b"}}, nil},
		{"dashboard.json, Held", "leasehold_locks_held", []Match{{"kind", "=~", "$kind"}},
			[]string{"kind", "kind", "node"}},
		{"dashboard.json, variable kind", "leasehold_locks_held", nil, []string{"kind"}},
	}
	if !reflect.DeepEqual(uses, want) {
		t.Errorf("got %+v\nwant %+v", uses, want)
	}
}

func TestReadRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no rules":       {"dashboard.json": dashboard},
		"no dashboard":   {"alerts.yaml": rules},
		"other rules":    {"alerts.yaml": "groups: []", "dashboard.json": dashboard},
		"no panels":      {"alerts.yaml": rules, "dashboard.json": "{}"},
		"not a document": {"alerts.yaml": rules, "dashboard.json": "panels:"},
	} {
		if uses, err := Read(folder(t, files)); err == nil {
			t.Errorf("%s: got %+v", name, uses)
		}
	}
}

var exposed = []map[string]string{
	{"__name__": "distributed_lock_wait_seconds_bucket", "resource": "order", "le": "1"},
	{"__name__": "distributed_lock_wait_seconds_bucket", "resource": "order", "le": "+Inf"},
	{"__name__": "distributed_lock_wait_seconds_sum", "resource": "order"},
	{"__name__": "distributed_lock_wait_seconds_count", "resource": "order"},
	{"__name__": "leasehold_up"},
	{"__name__": "leasehold_node_up", "node": `with "quotes", and {braces}`},
}

func TestMissing(t *testing.T) {
	t.Parallel()
	all := SeriesOf(exposed)
	for text, missing := range map[string]string{
		`rate(distributed_lock_wait_seconds_bucket[5m])`:                                         "",
		`sum by (job, resource, le) (distributed_lock_wait_seconds_bucket{resource="order"})`:    "",
		`sum by (resource) (distributed_lock_wait_seconds) or distributed_lock_wait_seconds_sum`: "",
		`distributed_lock_wait_seconds{resource=~"a|order", job="x"} {{resource}}`:               "",
		`distributed_lock_wait_seconds{resource!~"order|b"} {{ $labels.job }}`:                   "",
		`distributed_lock_wait_seconds{resource=~"$resource"}`:                                   "",
		`leasehold_up == 0`:                                       "",
		`distributed_lock_wait_second`:                            "there is no metric distributed_lock_wait_second",
		`leasehold_up_bucket`:                                     "there is no metric leasehold_up_bucket",
		`sum by (resource, kind) (distributed_lock_wait_seconds)`: "has no label kind",
		`leasehold_up {{node}}`:                                   "has no label node",
		`leasehold_up {{ $labels.node }}`:                         "has no label node",
		`leasehold_node_up{kind="lock"}`:                          "has no label kind",
		`leasehold_node_up{node="a"}`:                             `has no series with node="a"`,
		`leasehold_node_up{node=~"a.*"}`:                          `has no series with node=~"a.*"`,
		`leasehold_node_up{node!~"a|b"}`:                          `has no series with node!~"a|b"`,
	} {
		got := strings.Join(all.Missing(usesIn("here", text), ""), "\n")
		if missing == "" && got != "" || !strings.Contains(got, missing) {
			t.Errorf("%s: missing %q, want %q", text, got, missing)
		}
	}
	uses := usesIn("here", `leasehold_node_up{node="a"} + distributed_lock_none`)
	if got := all.Missing(uses, "leasehold_", "node"); len(got) != 0 {
		t.Errorf("missing %v, which was not asked for", got)
	}
}
