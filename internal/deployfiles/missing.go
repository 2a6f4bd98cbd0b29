package deployfiles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Series are the series that a program exposes: for each metric, their labels.
type Series map[string][]map[string]string

var (
	sample  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? [^ ]+`)
	labelIs = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// Exposition parses the text format of Prometheus. It lists a histogram under its plain name as well, which queries use
// for native histograms.
func Exposition(text string) Series {
	all := Series{}
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

// scrapeLabels are the labels that Prometheus adds to each series.
var scrapeLabels = []string{"job", "instance"}

// Missing describes which uses of metrics with that prefix nothing exposes: a metric, one of its labels, or a series
// that meets its conditions. It ignores conditions on labels in except, and on variables.
func (e Series) Missing(uses []MetricUse, prefix string, except ...string) (missing []string) {
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
			return slices.Contains(scrapeLabels, label) || slices.ContainsFunc(series, func(s map[string]string) bool {
				_, ok := s[label]
				return ok
			})
		}
		for _, l := range u.Labels {
			if !has(l) && l != "le" { // a query may support both forms of a histogram, of which only one has le
				missing = append(missing, fmt.Sprintf("%s: %s has no label %s", u.Where, u.Metric, l))
			}
		}
		for _, m := range u.Matches {
			switch {
			case !has(m.Label):
				missing = append(missing, fmt.Sprintf("%s: %s has no label %s", u.Where, u.Metric, m.Label))
			case !slices.Contains(except, m.Label) && !slices.Contains(scrapeLabels, m.Label) &&
				!slices.ContainsFunc(series, m.fits):
				missing = append(missing,
					fmt.Sprintf("%s: %s has no series with %s%s%q", u.Where, u.Metric, m.Label, m.Operator, m.Value))
			}
		}
	}
	return missing
}

// fits reports whether a series meets the condition. For a negative condition it reports whether the series is
// excluded: without such a series, the condition would exclude nothing.
func (m Match) fits(series map[string]string) bool {
	if strings.HasPrefix(m.Value, "$") { // a variable of the dashboard
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
