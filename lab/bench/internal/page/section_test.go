package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func TestSectionShowsTheMostImportantFigures(t *testing.T) {
	t.Parallel()
	d := example()
	d.Results[0].Workload = "redisson-crowd"
	folder := t.TempDir()
	file, figures := filepath.Join(folder, "page.md"), filepath.Join(folder, "figures.md")
	old := "before\n" + sectionBegin + "what was here\n" + sectionEnd + "after\n"
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, it replaces what it has written
		if err := WriteSection(d, file, figures); err != nil {
			t.Fatal(err)
		}
	}
	text, all := read(t, file), read(t, figures)
	for _, want := range []string{
		"before\n" + sectionBegin, sectionEnd + "after\n", "[All figures](figures.md)",
		"| 2 rounds of 0s, size 64 | hand-overs, /s | p50, ms | p99, ms |", "| leasehold | 178 [170…187] | 370 | 390 |",
		"| turns | ∞ |  |", "**Failed**: free/theirs: two held it",
	} {
		want = strings.ReplaceAll(strings.ReplaceAll(want, "p50,", work.WaitP50+","), "p99,", work.WaitP99+",")
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "what was here") || strings.Count(text, sectionBegin) != 1 {
		t.Errorf("the section is there twice:\n%s", text)
	}
	for _, want := range []string{
		"## redisson-crowd", "| hand-overs, /s | 178 [170…187] |", "example.com/a", "A <fast> one",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in:\n%s", want, all)
		}
	}
	if err := WriteSection(d, figures, file); err == nil {
		t.Error("a document without a section is accepted")
	}
}

// Nobody has changed a figure on the page by hand: all of them are in the file with all figures.
func TestSectionOfRedissonIsThatOfTheFigures(t *testing.T) {
	t.Parallel()
	const root = "../../../../"
	page, all := read(t, root+"docs/redisson.md"), read(t, root+"lab/bench/figures-redisson.md")
	_, rest, _ := strings.Cut(page, sectionBegin)
	part, _, ends := strings.Cut(rest, sectionEnd)
	checked := 0
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		for _, text := range cells[1:] {
			checked++
			if text != "–" && !strings.Contains(all, text) {
				t.Errorf("%q of the page is not in the file of all figures: %s", text, line)
			}
		}
	}
	if !ends || checked < 50 {
		t.Errorf("the page has a section of %d figures", checked)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
