package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/bench/internal/contender"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func TestMain(m *testing.M) {
	contender.Main(lib.All)
	os.Exit(m.Run())
}

// TestRun runs the smallest workload, as a user does.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	file := filepath.Join(t.TempDir(), "out.json")
	var out bytes.Buffer
	code := run(t.Context(),
		[]string{"-short", "-run", "^free/(floor|leasehold)$", "-json", file, "-redis", server.Addr()}, &out)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, &out)
	}
	for _, want := range []string{"floor", "leasehold", "SET NX PX", "Redis 7", "pairs of lock and release", "≤ 1.10"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the report:\n%s", want, &out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d report.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Results) != 1 || len(d.Results[0].Rows) != 2 || len(d.Verdicts) != 1 || len(d.Libraries) != 2 ||
		len(d.Servers) != 1 || d.Servers[0].Version == "" || d.Machine.Go == "" {
		t.Errorf("the file lacks something: %s", text)
	}
	if rounds := d.Results[0].Rows[0].Figures[0].Rounds; len(rounds) != d.Results[0].Plan.Rounds {
		t.Errorf("figures of %d rounds, want %d", len(rounds), d.Results[0].Plan.Rounds)
	}
	if keys, err := server.Command("DBSIZE"); err != nil || keys != int64(0) {
		t.Errorf("it left %v keys behind: %v", keys, err)
	}
}

func TestBenchmarkThatCannotRunExitsWith2(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no such flag":   {"-fast"},
		"an argument":    {"free"},
		"no such set":    {"-set", "all"},
		"no expression":  {"-run", "("},
		"no such server": {"-redis", "127.0.0.1:1"},
	} {
		if code := run(t.Context(), args, new(bytes.Buffer)); code != 2 {
			t.Errorf("%s: exit code %d, want 2", name, code)
		}
	}
}

func TestExitCodeOfRun(t *testing.T) {
	t.Parallel()
	failed := &report.Document{Results: []work.Result{{Failures: []string{"two held it"}}}}
	short := &report.Document{Verdicts: []work.Verdict{{Pass: true}, {}}}
	good := &report.Document{Verdicts: []work.Verdict{{Pass: true}}}
	for _, c := range []struct {
		d             *report.Document
		check, agrees bool
		want          int
	}{{failed, false, true, 1}, {short, false, true, 0}, {short, true, true, 1}, {good, true, true, 0},
		{good, false, false, 1}} {
		if got := code(c.d, c.check, c.agrees); got != c.want {
			t.Errorf("%+v, check %v: exit code %d, want %d", c.d, c.check, got, c.want)
		}
	}
}

func TestFiguresOfAFileArePrintedAndCompared(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	figure := func(rate float64) []work.Figure {
		return []work.Figure{{Metric: "pairs of lock and release", Unit: "/s",
			Summary: stat.Summarize([]float64{rate})}}
	}
	file := func(name string, rate float64) string {
		d := &report.Document{Results: []work.Result{{Workload: "free", About: "x", Main: "pairs of lock and release",
			Base: "floor", Rows: []work.Row{
				{Library: "floor", Figures: figure(100)}, {Library: "leasehold", Figures: figure(rate)},
			}}}}
		path := filepath.Join(folder, name)
		if err := d.Write(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	grown := filepath.Join(folder, "grown")
	if err := (&report.Document{Growth: []work.Growth{{Name: "growth-names", About: "x"}}}).Write(grown); err != nil {
		t.Fatal(err)
	}
	one, same, other, page := file("one", 95), file("same", 90), file("other", 50), filepath.Join(folder, "page.md")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"judged":  {[]string{"-from", one, "-check", "-page", page}, 0, "≤ 1.10"},
		"joined":  {[]string{"-from", one + "," + grown}, 0, "growth-names: x"},
		"short":   {[]string{"-from", other, "-check"}, 1, "short"},
		"agree":   {[]string{"-from", one, "-compare", same}, 0, "2 of 2 ratios"},
		"differ":  {[]string{"-from", one, "-compare", other}, 1, "differs"},
		"nothing": {[]string{"-from", filepath.Join(folder, "gone")}, 2, ""},
		"no json": {[]string{"-from", os.Args[0]}, 2, ""},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d and %q in:\n%s", name, code, c.code, c.says, &out)
		}
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "plots/free.svg") {
		t.Errorf("the page says %q, %v", text, err)
	}
}
