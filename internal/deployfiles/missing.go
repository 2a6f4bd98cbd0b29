package deployfiles

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Series are the series that a program exposes: for each metric, their labels.
type Series map[string][]map[string]string

// SeriesOf groups series by metric, which is their label __name__, as package model of Prometheus has it. It lists a
// histogram under its plain name as well, which queries use for native histograms.
func SeriesOf[Labels ~map[Name]Value, Name, Value ~string](series []Labels) Series {
	all := Series{}
	for _, s := range series {
		labels := map[string]string{}
		for name, value := range s {
			labels[string(name)] = string(value)
		}
		metric := labels["__name__"]
		delete(labels, "__name__")
		all[metric] = append(all[metric], labels)
	}
	for metric := range maps.Clone(all) {
		if histogram, ok := strings.CutSuffix(metric, "_bucket"); ok {
			all[histogram] = all[histogram+"_count"]
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
