package page

import (
	"math"
	"strings"

	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// The sizes of all plots, in pixels.
const (
	width    = 760.0
	labels   = 215.0 // where the bars begin
	values   = 110.0 // free space behind the longest bar
	top      = 48.0
	rowPitch = 26.0
	rowBar   = 16.0
	bottom   = 34.0
)

// bars draws the main metric of a workload: a bar for the median of each library, and a line for the spread.
// It returns false if there is nothing to draw.
func bars(r work.Result) (string, bool) {
	type bar struct {
		row    work.Row
		figure work.Figure
	}
	var all []bar
	largest := 0.0
	for _, row := range r.Rows {
		for _, f := range row.Figures {
			if f.Metric == r.Main && !math.IsNaN(float64(f.Median)) {
				all = append(all, bar{row, f})
				_, high := f.Spread()
				largest = max(largest, high, float64(f.Median))
			}
		}
	}
	if len(all) == 0 || largest <= 0 {
		return "", false
	}
	p := &picture{width: width, height: top + rowPitch*float64(len(all)) + bottom}
	title := r.Workload + ": " + named(all[0].figure)
	p.text(14, 26, "title", title)
	scale := (width - labels - values) / largest
	for i, b := range all {
		y := top + rowPitch*float64(i)
		middle := y + rowBar/2
		low, high := b.figure.Spread()
		p.text(labels-8, middle+4.5, "end", b.row.Library)
		p.bar(labels, y, float64(b.figure.Median)*scale, rowBar, class(r, b.row))
		if low != high {
			p.line(labels+low*scale, middle, labels+high*scale, middle, "spread")
			p.line(labels+low*scale, middle-4, labels+low*scale, middle+4, "spread")
			p.line(labels+high*scale, middle-4, labels+high*scale, middle+4, "spread")
		}
		p.text(labels+max(high, float64(b.figure.Median))*scale+8, middle+4.5, "",
			report.Number(float64(b.figure.Median)))
	}
	most, fewest := 0, math.MaxInt
	for _, b := range all {
		most, fewest = max(most, len(b.figure.Rounds)), min(fewest, len(b.figure.Rounds))
	}
	p.text(14, p.height-14, "small", note(r, most, fewest))
	return p.String(title), true
}

// note explains bars and colours.
func note(r work.Result, most, fewest int) string {
	text := "median"
	switch {
	case fewest >= stat.Many:
		text += " and middle half of the rounds"
	case most >= stat.Many:
		text += " and middle half of the rounds, or range if they are fewer than eight"
	case most > 1:
		text += " and range of the rounds"
	}
	for _, row := range r.Rows {
		if row.On == servers.OneEtcd && row.On != r.Rows[0].On {
			text += "; etcd is another kind of server: it syncs each change to disk"
		}
	}
	return text
}

func named(f work.Figure) string { return strings.TrimSuffix(f.Metric+", "+f.Unit, ", ") }

// class returns the CSS class of a library, and so its colour.
func class(r work.Result, row work.Row) string {
	switch {
	case row.On != r.Rows[0].On:
		return "other"
	case strings.HasPrefix(row.Library, "leasehold"):
		return "ours"
	case strings.HasPrefix(row.Library, "floor"):
		return "floor"
	default:
		return "peer"
	}
}
