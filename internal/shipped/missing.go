package shipped

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Exposed is what a program exposes: for each metric its series, as their labels.
type Exposed map[string][]map[string]string

var (
	sample  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? [^ ]+`)
	labelIs = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// Exposition reads the text format of Prometheus. A histogram is there under its plain name as well, by which its native form is asked for.
func Exposition(text string) Exposed {
	all := Exposed{}
	histograms := map[string]bool{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" && words[3] == "histogram" {
			histograms[words[2]] = true
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range labelIs.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[2]
		}
		all[m[1]] = append(all[m[1]], labels)
		if of, ok := strings.CutSuffix(m[1], "_count"); ok && histograms[of] {
			all[of] = append(all[of], labels)
		}
	}
	return all
}

// scraped are the labels that Prometheus adds to each series.
var scraped = []string{"job", "instance"}

// Missing says what of the uses of metrics with that prefix is not exposed: a metric, a label of it, or a series that fits its conditions.
// Conditions on labels in except are not looked at, nor are those on variables.
func (e Exposed) Missing(uses []Use, prefix string, except ...string) (missing []string) {
	for _, u := range uses {
		if !strings.HasPrefix(u.Metric, prefix) {
			continue
		}
		series := e[u.Metric]
		if len(series) == 0 {
			missing = append(missing, fmt.Sprintf("%s: there is no metric %s", u.Where, u.Metric))
			continue
		}
		has := func(label string) bool {
			return slices.Contains(scraped, label) || slices.ContainsFunc(series, func(s map[string]string) bool { _, ok := s[label]; return ok })
		}
		for _, l := range u.Labels {
			if !has(l) && l != "le" { // a query may look at both forms of a histogram, and only one has it
				missing = append(missing, fmt.Sprintf("%s: %s has no label %s", u.Where, u.Metric, l))
			}
		}
		for _, m := range u.Matches {
			switch {
			case !has(m.Label):
				missing = append(missing, fmt.Sprintf("%s: %s has no label %s", u.Where, u.Metric, m.Label))
			case !slices.Contains(except, m.Label) && !slices.Contains(scraped, m.Label) && !slices.ContainsFunc(series, m.fits):
				missing = append(missing, fmt.Sprintf("%s: %s has no series with %s%s%q", u.Where, u.Metric, m.Label, m.Operator, m.Value))
			}
		}
	}
	return missing
}

// fits reports whether a series is one that is asked for, or, of a condition that excludes, one that is not: if there were none, it would exclude nothing.
func (m Match) fits(series map[string]string) bool {
	if strings.HasPrefix(m.Value, "$") { // of a dashboard
		return true
	}
	switch m.Operator {
	case "=", "!=":
		return series[m.Label] == m.Value
	default:
		whole, err := regexp.Compile("^(?:" + m.Value + ")$")
		return err == nil && whole.MatchString(series[m.Label])
	}
}
