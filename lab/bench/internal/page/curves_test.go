package page

import (
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func TestWhatGrowsIsDrawnAndListed(t *testing.T) {
	t.Parallel()
	d := example()
	d.Growth = []work.Growth{{Name: "growth-names", About: "clients want names", Axis: "names", Points: []work.Point{
		{At: 1, Turns: 10_000, Server: 40, Script: 20, Long: 0.01, Longest: 0.5},
		{At: 1000, Turns: 20_000, Server: 30, Script: 15, Long: 2, Longest: 4},
	}}, {Name: "growth-held", About: "leases", Axis: "leases", Failed: "all were lost", LeftOut: "10 and more"}}
	text, tables, pictures := render(d, "../figures.md")
	for _, want := range []string{"## On one Redis server as it grows", "(#on-one-redis-server-as-it-grows)",
		"### growth-names\n\nClients want names.", "(plots/growth-names.svg)", "**Failed**: all were lost",
		"Left out: 10 and more"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for _, want := range []string{"## growth-names", "| names | turns, /s |",
		"| 1000 | 20.0k | 30 | 15 | 2, short | 4 | 0 |"} {
		if !strings.Contains(tables, want) {
			t.Errorf("%q is not in:\n%s", want, tables)
		}
	}
	svg := pictures["growth-names.svg"]
	// The second of two points is at the right end of its panel, which begins and ends with a power of ten.
	for _, want := range []string{"20.0k", "over names", `class="range ours"`, `cx="350.0"`, `cx="730.0"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in:\n%s", want, svg)
		}
	}
	if pictures["growth-held.svg"] != "" {
		t.Error("nothing is drawn as a curve")
	}
	if !d.Short() || !d.Failed() {
		t.Error("a script over a millisecond, or a failure, does not count")
	}
}
