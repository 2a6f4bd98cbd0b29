package page

import (
	"fmt"
	"html"
	"strings"
)

// picture is an SVG with its own background, which is light or dark as the reader's system is.
type picture struct {
	b             strings.Builder
	width, height float64
}

// style gives each class of shapes its colour: leasehold, the floor, other libraries, and libraries
// on another kind of server.
const style = `
.card{fill:#ffffff;stroke:#d0d7de}
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:14px}.small{font-size:11px;fill:#59636e}.end{text-anchor:end}.middle{text-anchor:middle}
.ours{fill:#0969da}.floor{fill:#818b98}.peer{fill:#d4852c}.other{fill:#9a6dd7}
.spread{stroke:#1f2328;stroke-width:1.5}.grid{stroke:#d8dee4}.ideal{stroke:#1a7f37;stroke-width:1.5;stroke-dasharray:5 4}
.range{stroke-width:3;opacity:.45}.range.ours{stroke:#0969da}.range.peer{stroke:#d4852c}.range.other{stroke:#9a6dd7}.range.floor{stroke:#818b98}
.ideal-text{fill:#1a7f37}
@media (prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.small{fill:#9198a1}
.ours{fill:#4493f8}.floor{fill:#818b98}.peer{fill:#e09b45}.other{fill:#b183f0}
.spread{stroke:#e6edf3}.grid{stroke:#2a313a}.ideal{stroke:#3fb950}
.range.ours{stroke:#4493f8}.range.peer{stroke:#e09b45}.range.other{stroke:#b183f0}
.ideal-text{fill:#3fb950}}
`

func (p *picture) text(x, y float64, class, text string) {
	fmt.Fprintf(&p.b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(text))
}

func (p *picture) bar(x, y, width, height float64, class string) {
	fmt.Fprintf(&p.b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" class=\"%s\"/>\n", x, y,
		max(width, 1), height, class)
}

func (p *picture) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&p.b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class)
}

func (p *picture) dot(x, y, radius float64, class string) {
	fmt.Fprintf(&p.b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius, class)
}

// String returns the whole file.
func (p *picture) String(label string) string {
	return fmt.Sprintf(
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "+
			"role=\"img\" aria-label=\"%s\">\n"+
			"<style>%s</style>\n<rect x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\" "+
			"class=\"card\"/>\n%s</svg>\n",
		p.width, p.height, p.width, p.height, html.EscapeString(label), style, p.width-1, p.height-1, p.b.String())
}
