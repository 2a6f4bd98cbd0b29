package quote_test

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

func TestTextsOfOthersAreQuotedIfTheyCouldBeMistaken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // as a name, and as a text
		"order:1001":      {"order:1001", "order:1001"},
		"größe/名":         {"größe/名", "größe/名"},
		`lit\nx`:          {`"lit\\nx"`, `"lit\\nx"`},
		"lit\nx":          {`"lit\nx"`, `"lit\nx"`},
		`"a"`:             {`"\"a\""`, `"\"a\""`},
		"h:1 program x":   {`"h:1 program x"`, "h:1 program x"},
		"a  write  7":     {`"a  write  7"`, `"a  write  7"`},
		" a":              {`" a"`, `" a"`},
		"a ":              {`"a "`, `"a "`},
		"-":               {`"-"`, `"-"`},
		"\u202ea":         {`"\u202ea"`, `"\u202ea"`},
		"a\u00a0b":        {`"a\u00a0b"`, `"a\u00a0b"`},
		"\xff":            {`"\xff"`, `"\xff"`},
		"\x1b[2Ja":        {`"\x1b[2Ja"`, `"\x1b[2Ja"`},
		"":                {`""`, ""},
		"a\ufeffb\u200dc": {`"a\ufeffb\u200dc"`, `"a\ufeffb\u200dc"`},
		"tab\tulator":     {`"tab\tulator"`, `"tab\tulator"`},
		"pay\u034f":       {`"pay\u034f"`, `"pay\u034f"`},
		"pay\ufe0f":       {`"pay\ufe0f"`, `"pay\ufe0f"`},
		"a\u3164\u3164x":  {`"a\u3164\u3164x"`, `"a\u3164\u3164x"`},
		"\uffa0\u115f":    {`"\uffa0\u115f"`, `"\uffa0\u115f"`},
		"\u17b4\u2800":    {`"\u17b4\u2800"`, `"\u17b4\u2800"`},
		"a b\u034f":       {`"a b\u034f"`, `"a b\u034f"`},
		"gro\u0308ße":     {`"gro\u0308\u00dfe"`, `"gro\u0308\u00dfe"`}, // the same in NFD
		"\xcd\u0331":      {`"\xcd\u0331"`, `"\xcd\u0331"`},             // the mark would join the d
		"\u212a":          {`"\u212a"`, `"\u212a"`},                     // the sign for Kelvin
		`x" "y`:           {`"x\" \"y"`, `"x\" \"y"`},
	} {
		if name, as := quote.Name(text), quote.Text(text); name != want[0] || as != want[1] {
			t.Errorf("%q is %s as a name and %s as a text, want %q", text, name, as, want)
		}
	}
	if quote.Cell("") != "-" || quote.Cell("-") != `"-"` || quote.Cell("a b") != "a b" {
		t.Error("a dash stands for nothing")
	}
}

// Two different names look different, and each is one word.
func FuzzNames(f *testing.F) {
	f.Add("lit\nx", `lit\nx`)
	f.Add("a b", `"a b"`)
	f.Add("pay", "pay\u034f")
	f.Add("\u00f6", "o\u0308")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsAny(quote.Name(a)+quote.Text(a), "\u034f\u3164\ufe0f\u2800") {
			t.Errorf("%+q shows nothing of it", a)
		}
		if q := quote.Text(a); norm.NFC.String(q) != q {
			t.Errorf("%+q looks the same as another spelling", a)
		}
		if a != b && (quote.Name(a) == quote.Name(b) || quote.Text(a) == quote.Text(b)) {
			t.Errorf("%q and %q look alike: %s", a, b, quote.Name(a))
		}
		if q := quote.Name(a); strings.ContainsAny(q, "\n\t\x1b") || q[0] != '"' && strings.Contains(q, " ") {
			t.Errorf("%q is %s", a, q)
		}
	})
}
