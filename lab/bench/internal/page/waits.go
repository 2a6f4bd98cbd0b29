package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// percentiles are drawn from left to right.
var percentiles = []struct{ metric, short string }{
	{work.WaitP50, "p50"}, {work.WaitP90, "p90"}, {work.WaitP99, "p99"}, {work.WaitLongest, "longest"},
}

// waits draws the percentiles of waits, on a logarithmic axis, and the ideal wait of the library that queues.
// It returns false if the workload has no such figures.
func waits(r work.Result) (string, bool) {
	type line struct {
		row work.Row
		of  []float64 // in milliseconds
	}
	var (
		all   []line
		ideal = math.NaN()
	)
	least, most := math.Inf(1), 0.0
	for _, row := range r.Rows {
		l := line{row: row}
		for _, p := range percentiles {
			if v, ok := median(row, p.metric); ok && v > 0 {
				l.of = append(l.of, v)
				least, most = min(least, v), max(most, v)
			}
		}
		if len(l.of) == len(percentiles) {
			all = append(all, l)
		}
		if v, ok := median(row, work.WaitIdeal); ok && row.Library == r.Base {
			ideal = v
		}
	}
	if len(all) == 0 {
		return "", false
	}
	first, last := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	const pitch, left, right = 44.0, labels + 16, 40.0
	scale := (width - left - right) / max(last-first, 1)
	at := func(v float64) float64 { return left + (math.Log10(v)-first)*scale }

	p := &picture{width: width, height: top + 10 + pitch*float64(len(all)) + 40}
	title := r.Workload + ": waits for a turn, ms"
	p.text(14, 26, "title", title)
	floor := top + pitch*float64(len(all))
	for e := first; e <= last; e++ {
		x := at(math.Pow(10, e))
		p.line(x, top-8, x, floor, "grid")
		p.text(x, floor+14, "small middle", fmt.Sprint(math.Pow(10, e)))
	}
	if !math.IsNaN(ideal) {
		p.line(at(ideal), top-8, at(ideal), floor, "ideal")
		p.text(at(ideal)-6, top-12, "small end ideal-text", "ideal: one turn each, in order")
	}
	for i, l := range all {
		y := top + pitch*float64(i) + 22
		c := class(r, l.row)
		p.text(labels-8, y+4.5, "end", l.row.Library)
		p.line(at(l.of[0]), y, at(l.of[len(l.of)-1]), y, "range "+c)
		var written []string
		for k, v := range l.of {
			p.dot(at(v), y, 5, c)
			written = append(written, percentiles[k].short+" "+report.Number(v))
		}
		p.text(left, y+19, "small", strings.Join(written, " · "))
	}
	p.text(14, p.height-12, "small",
		"logarithmic; dots: p50, p90, p99, longest. Without a queue the same client often comes first again, and "+
			"others wait long")
	return p.String(title), true
}

func median(row work.Row, metric string) (float64, bool) {
	for _, f := range row.Figures {
		if f.Metric == metric {
			return float64(f.Median), !math.IsNaN(float64(f.Median))
		}
	}
	return 0, false
}
