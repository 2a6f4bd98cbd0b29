package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// curveSection is the heading of what grows.
const curveSection = "one Redis server as it grows"

// panel is where one curve is drawn, beside the other.
type panel struct {
	left, right, top, bottom float64
}

// curves draws the rate of turns and the server's time for one, over what grows, on logarithmic axes. It returns false
// if there is nothing to draw.
func curves(g work.Growth) (string, bool) {
	if len(g.Points) == 0 {
		return "", false
	}
	const height, gap = 250.0, 70.0
	p := &picture{width: width, height: height}
	title := g.Name + ": turns, /s, and processor time of the server for a turn, µs"
	p.text(14, 26, "title", title)
	middle := width / 2
	for i, of := range []func(work.Point) float64{
		func(at work.Point) float64 { return float64(at.Turns) },
		func(at work.Point) float64 { return float64(at.Server) },
	} {
		left := float64(i) * middle
		panel{left: left + gap, right: left + middle - 30, top: top, bottom: height - 56}.draw(p, g.Points, of)
	}
	p.text(14, height-14, "small", "over "+g.Axis+"; both axes logarithmic")
	return p.String(title), true
}

// draw draws one curve.
func (a panel) draw(p *picture, points []work.Point, of func(work.Point) float64) {
	least, most := math.Inf(1), 0.0
	for _, at := range points {
		if v := of(at); v > 0 && !math.IsInf(v, 0) {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		return
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	first := math.Floor(math.Log10(float64(points[0].At)))
	last := math.Ceil(math.Log10(float64(points[len(points)-1].At)))
	x := func(size int) float64 {
		return a.left + (math.Log10(float64(size))-first)/max(last-first, 1)*(a.right-a.left)
	}
	y := func(v float64) float64 { return a.bottom - (math.Log10(v)-low)/max(high-low, 1)*(a.bottom-a.top) }
	for e := low; e <= max(high, low+1); e++ {
		v := math.Pow(10, e)
		p.line(a.left, y(v), a.right, y(v), "grid")
		p.text(a.left-6, y(v)+4, "small end", report.Number(v))
	}
	for e := first; e <= last; e++ {
		size := int(math.Pow(10, e))
		p.text(x(size), a.bottom+16, "small middle", report.Number(float64(size)))
	}
	beforeX, beforeY := math.NaN(), math.NaN()
	for _, at := range points {
		v := of(at)
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		if !math.IsNaN(beforeX) {
			p.line(beforeX, beforeY, x(at.At), y(v), "range ours")
		}
		p.dot(x(at.At), y(v), 4, "ours")
		p.text(x(at.At), y(v)-8, "small middle", report.Number(v))
		beforeX, beforeY = x(at.At), y(v)
	}
}

// growth writes what grows: its curves, and a table to another text, which may be the same.
func growth(b, tables *strings.Builder, all []work.Growth, pictures map[string]string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## On %s\n", curveSection)
	for _, g := range all {
		fmt.Fprintf(b, "\n### %s\n\n%s%s.\n", g.Name, strings.ToUpper(g.About[:1]), g.About[1:])
		if g.Failed != "" {
			fmt.Fprintf(b, "\n**Failed**: %s\n", g.Failed)
		}
		if g.LeftOut != "" {
			fmt.Fprintf(b, "\nLeft out: %s\n", g.LeftOut)
		}
		if svg, ok := curves(g); ok {
			pictures[g.Name+".svg"] = svg
			fmt.Fprintf(b, "\n![turns, and the server's time](%s/%s.svg)\n", plots, g.Name)
		}
		if tables != b {
			fmt.Fprintf(tables, "\n## %s\n", g.Name)
		}
		cells := report.GrowthTable(g)
		tables.WriteString("\n")
		for i, line := range cells {
			for _, text := range line {
				fmt.Fprintf(tables, "| %s ", cell(text))
			}
			tables.WriteString("|\n")
			if i == 0 {
				tables.WriteString(strings.Repeat("|---:", len(line)) + "|\n")
			}
		}
	}
}
