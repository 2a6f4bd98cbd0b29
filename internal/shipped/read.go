// Package shipped reads what the alert rules and the dashboard of folder deploy ask for, so that tests can say whether it is there: a rule about a metric
// that nobody exports is silent for ever.
package shipped

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Use is one place that names a metric.
type Use struct {
	Where   string // as in "alerts.yaml, LockLeaseLost"
	Metric  string
	Matches []Match
	Labels  []string // by which is grouped, or that a text shows
}

// Match is a condition on a label.
type Match struct{ Label, Operator, Value string }

var (
	alertLine = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	metric    = regexp.MustCompile(`\b((?:distributed_lock|leasehold)_[a-z_]+)(?:\{([^}]*)\})?`)
	match     = regexp.MustCompile(`([a-z_]+) *(=~|!~|!=|=) *"([^"]*)"`)
	group     = regexp.MustCompile(`\b(?:by|on|ignoring|without) *\(([^)]*)\)`)
	shown     = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)
	variable  = regexp.MustCompile(`^label_values\((.*), *([a-z_]+)\)$`)
)

// Read returns everything that the files of folder deploy ask for.
func Read(deploy string) ([]Use, error) {
	rules, err := os.ReadFile(filepath.Join(deploy, "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(deploy, "dashboard.json"))
	if err != nil {
		return nil, err
	}
	uses := ofRules(string(rules))
	shown, err := ofDashboard(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dashboard.json: %w", err)
	case len(uses) == 0 || len(shown) == 0:
		return nil, errors.New("the alert rules or the dashboard ask for nothing: have their forms changed?")
	}
	return append(uses, shown...), nil
}

// ofRules reads the rules as text, from one alert to the next: what their descriptions name must be there as well.
func ofRules(text string) (uses []Use) {
	starts := alertLine.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		uses = append(uses, of("alerts.yaml, "+text[at[2]:at[3]], text[at[1]:end])...)
	}
	return uses
}

func ofDashboard(text []byte) (uses []Use, err error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			uses = append(uses, of("dashboard.json, "+p.Title, t.Expr+" "+t.Legend)...)
		}
	}
	for _, v := range d.Templating.List {
		if of := variable.FindStringSubmatch(v.Definition); of != nil {
			m := metric.FindStringSubmatch(of[1])
			uses = append(uses, Use{Where: "dashboard.json, variable " + v.Name, Metric: m[1], Matches: matches(m[2]), Labels: []string{of[2]}})
		}
	}
	return uses, nil
}

// of returns the metrics that one expression names, with the texts that are made of its outcome.
func of(where, text string) (uses []Use) {
	var labels []string
	for _, g := range group.FindAllStringSubmatch(text, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	for _, s := range shown.FindAllStringSubmatch(text, -1) {
		labels = append(labels, s[1])
	}
	for _, m := range metric.FindAllStringSubmatch(text, -1) {
		uses = append(uses, Use{Where: where, Metric: m[1], Matches: matches(m[2]), Labels: labels})
	}
	return uses
}

func matches(selector string) (all []Match) {
	for _, m := range match.FindAllStringSubmatch(selector, -1) {
		all = append(all, Match{Label: m[1], Operator: m[2], Value: m[3]})
	}
	return all
}

// Dashboard is what of a Grafana dashboard is looked at.
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

// Parse reads a dashboard.
func Parse(text []byte) (d Dashboard, err error) {
	err = json.Unmarshal(text, &d)
	return d, err
}
