package page

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func figure(metric, unit string, rounds ...float64) work.Figure {
	return work.Figure{Metric: metric, Unit: unit, Summary: stat.Summarize(rounds)}
}

func contended(library string, rate, p50, longest float64) work.Row {
	return work.Row{Library: library, On: servers.OneRedis, Figures: []work.Figure{
		figure("hand-overs", "/s", rate, rate*1.1), figure(work.WaitP50, "ms", p50), figure(work.WaitP90, "ms", p50*2),
		figure(work.WaitP99, "ms", longest), figure(work.WaitLongest, "ms", longest), figure(work.WaitIdeal, "ms", 350),
	}}
}

func example() *report.Document {
	etcd := contended("etcd", 90, 500, 700)
	etcd.On = servers.OneEtcd
	return &report.Document{
		Command: "go run ./lab/bench", Machine: report.Machine{System: "linux/amd64", Processors: 2,
			Processor: "A <fast> one", Go: "go1.26"},
		Servers: []servers.Info{{Kind: servers.OneRedis, Version: "Redis 7.0.15", Config: "given"}},
		Libraries: []report.Library{
			{Name: "leasehold", Module: "example.com/a", Version: "v1.2.3", Config: "a|b"},
		},
		Results: []work.Result{
			{
				Workload: "crowd", Section: "one server", About: "many clients", Main: "hand-overs",
				Base: "leasehold", Plan: work.Plan{Rounds: 2, Size: 64},
				Rows: []work.Row{contended("leasehold", 170, 370, 390), contended("a & b", 175, 0.1, 2700), etcd},
			},
			{Workload: "free", Section: "one server", About: "one goroutine", Main: "pairs",
				Failures: []string{"free/theirs: two held it"}, LeftOut: []string{"etcd: not installed"}},
			{Workload: "other", Section: "one server", About: "one goroutine"},
		},
		Verdicts: []work.Verdict{
			{Workload: "crowd", Claim: "waits", Target: 1.15, Measured: 1.1, Pass: true},
			{Workload: "crowd", Claim: "turns", Target: 1.2, Measured: stat.Number(math.Inf(1))},
		},
	}
}

func TestPageShowsTheWholeRun(t *testing.T) {
	t.Parallel()
	text, _, pictures := render(example(), "")
	for _, want := range []string{
		"`go run ./lab/bench`", "2 processors: A <fast> one", "Redis 7.0.15, given",
		"| [crowd](#crowd): waits | ≤ 1.15 | 1.10 | – |", ": turns | ≤ 1.20 | **∞, short** | – |",
		"On [one server](#on-one-server).", "## On one server", "### crowd", "Many clients",
		"One goroutine", "As [free](#free)",
		"size 64", "![hand-overs](plots/crowd.svg)", "(plots/crowd-waits.svg)",
		"|  | leasehold | a & b | etcd (another kind of server) |", "| hand-overs, /s | 178 [170…187] |",
		"**Failed**: free/theirs: two held it", "Left out: etcd: not installed",
		"| leasehold | `example.com/a` v1.2.3 | a\\|b |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if len(pictures) != 2 {
		t.Errorf("%d plots, want those of the first workload alone", len(pictures))
	}
}

// Each workload that is short is followed by its cause, and no other is.
func TestPageSaysWhyTargetsAreShort(t *testing.T) {
	t.Parallel()
	d := example()
	d.Verdicts = []work.Verdict{{Workload: "many"}, {Workload: "sticky", Pass: true}, {Workload: "turns-one"},
		{Workload: "turns-one"}, {Workload: "turns-held"}}
	text, _, _ := render(d, "")
	_, why, _ := strings.Cut(text, "Why some are short:")
	why, _, _ = strings.Cut(why, "## What was measured")
	for _, want := range []string{"- [many](#many): A pair", "- [turns-one](#turns-one), [turns-held](#turns-held): "} {
		if strings.Count(why, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, why)
		}
	}
	if strings.Contains(text, "](#sticky): A name") {
		t.Errorf("there is a cause of what is not short:\n%s", why)
	}
}

// Causes are about workloads that have targets.
func TestCausesAreOfTargets(t *testing.T) {
	t.Parallel()
	for _, c := range causes {
		for _, w := range c.workloads {
			if !slices.ContainsFunc(work.Targets, func(x work.Target) bool { return x.Workload == w }) {
				t.Errorf("%s has no target", w)
			}
		}
	}
}

func TestTablesMayBeInAFileOfTheirOwn(t *testing.T) {
	t.Parallel()
	text, tables, _ := render(example(), "../figures.md")
	for _, want := range []string{
		"[All figures, with rounds and sizes](../figures.md)", "### crowd", "(plots/crowd-waits.svg)", "**Failed**",
	} {
		if !strings.Contains(text, want) || strings.Contains(tables, want) {
			t.Errorf("%q belongs to the page:\n%s", want, text)
		}
	}
	for _, want := range []string{
		"\n## crowd\n", "size 64", "| hand-overs, /s | 178 [170…187] |", "`example.com/a` v1.2.3",
	} {
		if !strings.Contains(tables, want) || strings.Contains(text, want) {
			t.Errorf("%q belongs to the tables:\n%s", want, tables)
		}
	}
}

func TestTableHasARowForEachLibraryIfTheyOutnumberFigures(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	row := func(name string) work.Row {
		return work.Row{Library: name, Figures: []work.Figure{figure("speed", "/s", 1)}}
	}
	table(&b, work.Result{Rows: []work.Row{row("a"), row("b")}})
	if want := "\n|  | speed, /s |\n|---|---:|\n| a | 1 |\n| b | 1 |\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestPlotsAreWellFormedAndSayWhatTheyShow(t *testing.T) {
	t.Parallel()
	_, _, pictures := render(example(), "")
	for name, want := range map[string][]string{
		"crowd.svg": {"leasehold", "a &amp; b", "hand-overs, /s", "178", "class=\"spread\"",
			"etcd is another kind of server", "class=\"other\""},
		"crowd-waits.svg": {"p50 370 · p90 740 · p99 390 · longest 390", "ideal", "class=\"ideal\"",
			"prefers-color-scheme:dark"},
	} {
		svg := pictures[name]
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, w := range want {
			if !strings.Contains(svg, w) {
				t.Errorf("%s: %q is not in it", name, w)
			}
		}
	}
}

// If all libraries run on the same server, none is marked as being on another one.
func TestOnlyAnotherKindOfServerIsNoted(t *testing.T) {
	t.Parallel()
	row := work.Row{Library: "etcd", On: servers.OneEtcd, Figures: []work.Figure{figure("speed", "/s", 1)}}
	if svg, ok := bars(work.Result{Main: "speed", Rows: []work.Row{row}}); !ok || strings.Contains(svg, "another") {
		t.Errorf("drawn: %v: %s", ok, svg)
	}
}

// The longest bar ends inside the picture, and half the value gives half the length.
func TestBarsAreToScale(t *testing.T) {
	t.Parallel()
	row := func(name string, v float64) work.Row {
		return work.Row{Library: name, Figures: []work.Figure{figure("speed", "/s", v)}}
	}
	svg, ok := bars(work.Result{Main: "speed", Rows: []work.Row{row("a", 200), row("b", 100)}})
	if !ok || !strings.Contains(svg, `width="435.0" height="16.0" rx="2" class="peer"`) ||
		!strings.Contains(svg, `width="217.5" height="16.0"`) {
		t.Errorf("bars of 200 and 100: %s", svg)
	}
	if _, ok := bars(work.Result{Main: "speed", Rows: []work.Row{row("a", 0)}}); ok {
		t.Error("nothing but zero is drawn")
	}
}

func TestWriteReplacesPlotsOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "performance.md")
	old, other := filepath.Join(folder, plots, "gone.svg"), filepath.Join(folder, plots, "notes.txt")
	if err := os.Mkdir(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(example(), file, ""); err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob(filepath.Join(folder, plots, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range there {
		names = append(names, filepath.Base(path))
	}
	if want := []string{"crowd-waits.svg", "crowd.svg", "notes.txt"}; !slices.Equal(names, want) {
		t.Errorf("plots: %q, want %q", names, want)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
