package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

func figures(seed uint64) (all []draw.Figure) {
	for _, c := range cases.All {
		all = append(all, demo.Simulate(c, seed))
	}
	return all
}

func text(t *testing.T, s screen.Screen, all []draw.Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := draw.Legend(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if err := draw.Text(&b, s, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// No line is longer than the screen is wide, whatever happens when.
func TestTextFits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		all := figures(seed)
		for _, width := range []int{80, 100, 120} {
			for line := range strings.Lines(text(t, screen.Screen{Width: width}, all)) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
					t.Fatalf("seed %d: %d letters on a screen of %d: %s", seed, n, width, line)
				}
			}
		}
	}
}

func TestWidthHasLimits(t *testing.T) {
	t.Parallel()
	all := figures(1)
	if text(t, screen.Screen{Width: 1}, all) != text(t, screen.Screen{Width: 80}, all) ||
		text(t, screen.Screen{Width: 1000}, all) != text(t, screen.Screen{Width: 120}, all) {
		t.Error("a width beyond the limits makes another picture than the limit")
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestColorsChangeNothingElse(t *testing.T) {
	t.Parallel()
	all := figures(1)
	plain, colored := text(t, screen.Screen{Width: 100}, all), text(t, screen.Screen{Width: 100, Colors: true}, all)
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[31m") {
		t.Error("colours are where they should not be, or not where they should")
	}
	if escapes.ReplaceAllString(colored, "") != plain {
		t.Error("without its colours the picture is another one")
	}
}

func TestASCII(t *testing.T) {
	t.Parallel()
	plain := text(t, screen.Screen{Width: 100, ASCII: true}, figures(1))
	for _, r := range plain {
		if r > '~' || r < ' ' && r != '\n' {
			t.Fatalf("%q is not ASCII", r)
		}
	}
	nice := text(t, screen.Screen{Width: 100}, figures(1))
	if len(strings.Split(plain, "\n")) != len(strings.Split(nice, "\n")) {
		t.Error("the picture in ASCII has other lines")
	}
}

// The picture of each case shows what matters.
func TestTextTells(t *testing.T) {
	t.Parallel()
	for _, f := range figures(1) {
		got := text(t, screen.Screen{Width: 100}, []draw.Figure{f})
		wanted := []string{f.Letter + "  " + f.Title, "without: " + f.Without.What, "with leasehold: " + f.With.What,
			f.Without.Outcome(), "nothing lost", "   A  ", "   B  ", "   counter  ", "→ "}
		if f.Letter == "c" || f.Letter == "f" {
			wanted = append(wanted, "✗", "refused: token 1, seen 2")
		}
		if f.Letter != "a" {
			wanted = append(wanted, "two at once", "update is lost")
		}
		for _, want := range wanted {
			if !strings.Contains(got, want) {
				t.Errorf("case %s does not say %q:\n%s", f.Letter, want, got)
			}
		}
	}
}

// shape is an element of an SVG.
type shape struct {
	XMLName xml.Name
	ID      string  `xml:"id,attr"`
	Class   string  `xml:"class,attr"`
	X       float64 `xml:"x,attr"`
	Y       float64 `xml:"y,attr"`
	Width   float64 `xml:"width,attr"`
	Height  float64 `xml:"height,attr"`
	Text    string  `xml:",chardata"`
	Inner   []shape `xml:",any"`
}

func (s shape) walk(visit func(shape)) {
	visit(s)
	for _, i := range s.Inner {
		i.walk(visit)
	}
}

func svg(t *testing.T, all []draw.Figure) shape {
	t.Helper()
	var b bytes.Buffer
	if err := draw.SVG(&b, all); err != nil {
		t.Fatal(err)
	}
	var s shape
	d := xml.NewDecoder(&b)
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); err != io.EOF && err != nil {
		t.Fatalf("behind the picture: %v", err)
	}
	return s
}

// The SVG is XML, has a group for each case and its text as text, and nothing is outside of the picture.
func TestSVG(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		all := figures(seed)
		s := svg(t, all)
		groups, words := map[string]bool{}, ""
		s.walk(func(e shape) {
			groups[e.ID] = e.XMLName.Local == "g"
			words += e.Text + "\n"
			if e.X < 0 || e.X+e.Width > s.Width || e.Y < 0 || e.Y+e.Height > s.Height {
				t.Errorf("seed %d: %s at %v, %v is outside of the picture", seed, e.XMLName.Local, e.X, e.Y)
			}
		})
		for _, f := range all {
			if !groups["case-"+f.Letter] || !strings.Contains(words, f.Title) ||
				!strings.Contains(words, f.Without.What) || !strings.Contains(words, f.With.What) {
				t.Errorf("seed %d: case %s is not in the picture", seed, f.Letter)
			}
		}
		if strings.Contains(words, "\x1b") || !strings.Contains(words, "prefers-color-scheme:dark") {
			t.Error("the style is not what it should be")
		}
	}
}

// Captions of a lane do not touch each other. A letter of this font is 5.7 pixels wide on average.
func TestCaptionsDoNotTouch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		type line struct{ from, to float64 }
		rows := map[float64][]line{}
		svg(t, figures(seed)).walk(func(e shape) {
			if e.XMLName.Local == "text" && (e.Class == "small" || e.Class == "bad") && e.Y > 60 { // below the legend
				rows[e.Y] = append(rows[e.Y], line{e.X, e.X + 5.7*float64(utf8.RuneCountInString(e.Text))})
			}
		})
		for y, row := range rows {
			for i, a := range row {
				if a.to > 860 {
					t.Errorf("seed %d: a caption at %v goes over the rim", seed, y)
				}
				for _, b := range row[i+1:] {
					if a.from < b.to && b.from < a.to {
						t.Errorf("seed %d: two captions at %v touch each other", seed, y)
					}
				}
			}
		}
	}
}

// full is a disk with little space left.
type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestErrorsOfWritingAreTold(t *testing.T) {
	t.Parallel()
	all := figures(1)
	if err := draw.Text(&full{500}, screen.Screen{Width: 100}, all[0]); !errors.Is(err, errFull) {
		t.Errorf("a picture that cannot be written: %v", err)
	}
	if err := draw.Legend(&full{}, screen.Screen{Width: 100}); !errors.Is(err, errFull) {
		t.Errorf("a legend that cannot be written: %v", err)
	}
	if err := draw.Table(&full{}, all); !errors.Is(err, errFull) {
		t.Errorf("a table that cannot be written: %v", err)
	}
	if err := draw.SVG(&full{}, all); !errors.Is(err, errFull) {
		t.Errorf("an SVG that cannot be written: %v", err)
	}
}
