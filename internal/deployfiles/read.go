// Package deployfiles reads which metrics the alert rules and the dashboard in folder deploy use, so that tests can
// check that they exist: a rule about a metric that nobody exports is silent for ever.
package deployfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// MetricUse is one use of a metric.
type MetricUse struct {
	Where   string // as in "alerts.yaml, LockLeaseLost"
	Metric  string
	Matches []Match
	Labels  []string // labels to group by, or that a text shows
}

// Match is a condition on a label.
type Match struct{ Label, Operator, Value string }

var (
	alertLine  = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	metric     = regexp.MustCompile(`\b((?:distributed_lock|leasehold)_[a-z_]+)(?:\{([^}]*)\})?`)
	match      = regexp.MustCompile(`([a-z_]+) *(=~|!~|!=|=) *"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on|ignoring|without) *\(([^)]*)\)`)
	shownLabel = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)
	variable   = regexp.MustCompile(`^label_values\((.*), *([a-z_]+)\)$`)
)

// Read returns all uses of metrics in the files of folder deploy.
func Read(deploy string) ([]MetricUse, error) {
	rules, err := os.ReadFile(filepath.Join(deploy, "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(deploy, "dashboard.json"))
	if err != nil {
		return nil, err
	}
	uses := usesInRules(string(rules))
	shown, err := usesInDashboard(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dashboard.json: %w", err)
	case len(uses) == 0 || len(shown) == 0:
		return nil, errors.New("the alert rules or the dashboard ask for nothing: have their forms changed?")
	}
	return append(uses, shown...), nil
}

// usesInRules reads the rules as text, one alert at a time: metrics that a description names must exist as well.
func usesInRules(text string) (uses []MetricUse) {
	starts := alertLine.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		uses = append(uses, usesIn("alerts.yaml, "+text[at[2]:at[3]], text[at[1]:end])...)
	}
	return uses
}

func usesInDashboard(text []byte) (uses []MetricUse, err error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			uses = append(uses, usesIn("dashboard.json, "+p.Title, t.Expr+" "+t.Legend)...)
		}
	}
	for _, v := range d.Templating.List {
		if of := variable.FindStringSubmatch(v.Definition); of != nil {
			m := metric.FindStringSubmatch(of[1])
			uses = append(uses, MetricUse{Where: "dashboard.json, variable " + v.Name, Metric: m[1],
				Matches: matches(m[2]), Labels: []string{of[2]}})
		}
	}
	return uses, nil
}

// usesIn returns the metrics that an expression uses. text also contains the texts that show its result.
func usesIn(where, text string) (uses []MetricUse) {
	var labels []string
	for _, g := range grouping.FindAllStringSubmatch(text, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	for _, s := range shownLabel.FindAllStringSubmatch(text, -1) {
		labels = append(labels, s[1])
	}
	for _, m := range metric.FindAllStringSubmatch(text, -1) {
		uses = append(uses, MetricUse{Where: where, Metric: m[1], Matches: matches(m[2]), Labels: labels})
	}
	return uses
}

func matches(selector string) (all []Match) {
	for _, m := range match.FindAllStringSubmatch(selector, -1) {
		all = append(all, Match{Label: m[1], Operator: m[2], Value: m[3]})
	}
	return all
}

// Dashboard is the part of a Grafana dashboard that tests check.
type Dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []Panel
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
}

// Panel is one panel.
type Panel struct {
	ID          int
	Type, Title string
	Description string
	Datasource  struct{ Type, UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID      string
		Expr       string
		Legend     string `json:"legendFormat"`
		Datasource struct{ Type, UID string }
	}
}

// Parse parses a dashboard.
func Parse(text []byte) (d Dashboard, err error) {
	err = json.Unmarshal(text, &d)
	return d, err
}
