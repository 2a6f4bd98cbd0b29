package draw

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// SVG writes one image with all figures below each other. It needs no other files, and is light or dark as the reader's
// system is.
func SVG(w io.Writer, figures []Figure) error {
	d := &drawing{y: edge + 4}
	d.legend()
	for i, f := range figures {
		if i > 0 {
			d.y += 14
			d.line(edge, d.y, wide-edge, d.y, "grid")
			d.y += 20
		}
		d.figure(f)
	}
	height := d.y + edge - 6
	label := "Timelines of clients that lock, without leasehold and with it"
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" `+
		`viewBox="0 0 %d %.0f" width="%[1]d" height="%.0[2]f" role="img" aria-label="%s">
<title>%[3]s</title>
<style>%s</style>
<rect x=".5" y=".5" width="%d" height="%.0f" rx="8" class="card"/>
%s</svg>
`, wide, height, label, style, wide-1, height-1, d.b.String())
	return err
}

// Sizes, in pixels.
const (
	wide   = 860
	edge   = 22  // from the border
	left   = 92  // where the lanes begin
	right  = 70  // space behind the lanes, for texts about their ends
	bar    = 14  // the height of a bar
	letter = 6.3 // the average width of a letter
	small  = 5.7 // the same in captions

	// lineLetters is how many letters fit between the edges.
	lineLetters = (wide - 2*edge) * 10 / 63
)

// style sets the colours of the classes of shapes.
const style = `
.card{fill:#ffffff;stroke:#d0d7de}
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:15px}.name{font-weight:600;text-anchor:end}.small,.bad,.good{font-size:11px}.small{fill:#59636e}
.end{text-anchor:end}.middle{text-anchor:middle}.strong{font-weight:600;font-size:13px}.moral{font-style:italic}
.bad{fill:#cf222e}.good{fill:#1a7f37}
.grid{stroke:#d8dee4}.rest{stroke:#afb8c1}.waits{stroke:#818b98;stroke-width:2;stroke-dasharray:2 4}
.holds{fill:#0969da}.stopped{fill:#0969da;fill-opacity:.22;stroke:#0969da;stroke-dasharray:3 3}.twice{fill:#cf222e}
.twice-stopped{fill:#cf222e;fill-opacity:.28;stroke:#cf222e;stroke-dasharray:3 3}
.closed{fill:#bf8700;fill-opacity:.45}.down{stroke:#ffffff;stroke-width:4}
.accepted{fill:#1a7f37}.lost,.hangs{fill:#cf222e}.refused{fill:#8250df}.dies{fill:#1f2328}.note{fill:#bf8700}.reads{fill:#ffffff;stroke:#0969da;stroke-width:1.5}
.sign{fill:none;stroke:#ffffff;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.small{fill:#9198a1}.bad{fill:#ff7b72}.good{fill:#3fb950}
.grid{stroke:#2a313a}.rest{stroke:#59636e}.waits{stroke:#818b98}
.holds{fill:#4493f8}.stopped{fill:#4493f8;stroke:#4493f8}.twice{fill:#f85149}.twice-stopped{fill:#f85149;stroke:#f85149}
.closed{fill:#d29922}.down{stroke:#0d1117}
.accepted{fill:#238636}.lost,.hangs{fill:#da3633}.refused{fill:#8957e5}.dies{fill:#818b98}.note{fill:#d29922}.reads{fill:#0d1117;stroke:#4493f8}}
`

// drawing is an SVG that grows downwards.
type drawing struct {
	b strings.Builder
	y float64
}

func (d *drawing) text(x, y float64, class, text string) {
	fmt.Fprintf(&d.b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class)
}

func (d *drawing) bar(x1, x2, y float64, class string) {
	fmt.Fprintf(&d.b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" class=\"%s\"/>\n", x1, y-bar/2,
		max(x2-x1, 2), bar, class)
}

// legend explains the shapes.
func (d *drawing) legend() {
	x := float64(edge)
	entry := func(shape func(), width float64, text string) {
		shape()
		d.text(x+width+6, d.y+4, "small", text)
		x += width + 6 + float64(letter*float64(len(text))) + 8
	}
	entry(func() { d.line(x, d.y, x+24, d.y, "waits") }, 24, "waits")
	entry(func() { d.bar(x, x+24, d.y, "holds") }, 24, "believes that it holds")
	entry(func() { d.bar(x, x+24, d.y, "stopped") }, 24, "stands still")
	entry(func() { d.bar(x, x+24, d.y, "twice") }, 24, "two believe it at once")
	for _, m := range []struct {
		what timeline.EventKind
		text string
	}{{timeline.Accepted, "written"}, {timeline.Lost, "overwrites an update"}, {timeline.Refused, "refused"}} {
		entry(func() { d.sign(x+8, d.y, m.what) }, 16, m.text)
	}
	d.y += 28
}

// figure draws a case with both sides.
func (d *drawing) figure(f Figure) {
	fmt.Fprintf(&d.b, "<g id=\"case-%s\">\n", html.EscapeString(f.Letter))
	d.y += 14
	d.text(edge, d.y, "title", f.Letter+" · "+f.Title)
	d.text(wide-edge, d.y, "small end", "leases of "+seconds(f.With.TTL))
	for _, l := range screen.Wrap(f.Story, lineLetters) {
		d.y += 19
		d.text(edge, d.y, "", l)
	}
	d.side("without:", f.Without)
	d.side("with leasehold:", f.With)
	d.y += 6
	for _, l := range screen.Wrap(f.Moral, lineLetters) {
		d.y += 18
		d.text(edge, d.y, "moral", l)
	}
	d.b.WriteString("</g>\n")
}

// side draws the lanes of one side.
func (d *drawing) side(name string, s Side) {
	class := "good"
	if !s.Good() {
		class = "bad"
	}
	d.y += 32
	fmt.Fprintf(&d.b, "<text x=\"%d\" y=\"%.1f\"><tspan class=\"strong\">%s</tspan> %s</text>\n", edge, d.y, name,
		html.EscapeString(s.What))
	d.text(wide-edge, d.y, class+" strong end", s.Outcome())
	scale := func(at time.Duration) float64 {
		return left + (wide-left-right)*float64(at)/float64(max(s.End, 1))
	}
	d.y += 20
	top := d.y + 5
	tick := tickInterval(s.End, 13)
	var ticks strings.Builder
	for at := time.Duration(0); at <= s.End; at += tick {
		d.text(scale(at), d.y, "small middle", fmt.Sprintf("%gs", at.Seconds()))
		fmt.Fprintf(&ticks, "M%.1f %.1fV%%.1f", scale(at), top)
	}
	d.y += 6
	held := d.b.String()
	d.b.Reset()
	both := overlaps(s.Lanes)
	for _, l := range s.Lanes {
		d.lane(s.Timeline, l, scale, both)
	}
	lanes := d.b.String()
	d.b.Reset()
	d.b.WriteString(held)
	fmt.Fprintf(&d.b, "<path d=\"%s\" class=\"grid\"/>\n",
		strings.ReplaceAll(ticks.String(), "%.1f", fmt.Sprintf("%.1f", d.y)))
	d.b.WriteString(lanes) // over the lines of the time axis
}
