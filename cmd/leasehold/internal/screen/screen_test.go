package screen

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                      {""},
		"  one \n two ":         {"one two"},
		"one two three":         {"one two", "three"},
		"seventy-seven is long": {"seventy-seven", "is long"},
		"ä ö ü ß é":             {"ä ö ü ß", "é"},
	} {
		if got := Wrap(text, 7); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParagraph(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 30) + "→end"
	for width, want := range map[int]int{1: 78, 100: 98, 1000: 118} {
		var b strings.Builder
		if err := (Screen{Width: width, ASCII: true}).Paragraph(&b, "   ", text); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if got := len(lines[0]); got > want || got < want-5 {
			t.Errorf("width %d: the first line has %d letters, want about %d", width, got, want)
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "   ") || !strings.HasSuffix(last, "->end") {
			t.Errorf("width %d: last line %q", width, last)
		}
	}
}

func TestParagraphReportsFailedWrites(t *testing.T) {
	t.Parallel()
	if err := (Screen{}).Paragraph(failing{}, "", "text"); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestColored(t *testing.T) {
	t.Parallel()
	color := Screen{Colors: true}
	for _, c := range []struct{ got, want string }{
		{color.Colored("text", Red), "\x1b[31mtext\x1b[0m"},
		{color.Colored("text", ""), "text"},
		{color.Colored("  ", Red), "  "},
		{Screen{}.Colored("text", Red), "text"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
