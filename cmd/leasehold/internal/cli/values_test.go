//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "2m30s": 150 * time.Second,
	} {
		var p period
		if err := p.Set(text); err != nil || time.Duration(p) != want {
			t.Errorf("%q became %s, %v; want %s", text, time.Duration(p), err, want)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "NaN", "Inf", "1e300", "1 s"} {
		var p period
		if err := p.Set(text); err == nil || p != 0 {
			t.Errorf("%q became %s", text, time.Duration(p))
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order:1001":       "order:1001",
		"Straße 東京":        "Straße 東京",
		"a\nb\tc\x1b[31m":  `a\nb\tc\x1b[31m`,
		"\u202eright-left": `\u202eright-left`,
		"back\\slash":      `back\slash`,
		"\u009b31m":        `\u009b31m`,
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Decoding returns what was encoded, and no byte in between steers a terminal.
func TestJSONIsPrintable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"order:1001", "Straße 東京 👍", "a\nb\t\"\\\x1b[31m", "\u009b31m", "\x7f", "\u202eright-left", "tag \U000e0041",
		"\u2028", "<b>&",
	} {
		var out bytes.Buffer
		if err := encoder(&out).Encode([]string{text}); err != nil {
			t.Fatal(err)
		}
		line, ended := strings.CutSuffix(out.String(), "\n")
		if !ended || oneLine(line) != line {
			t.Errorf("%q became %q", text, out.String())
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || len(back) != 1 || back[0] != text {
			t.Errorf("%q was read back as %q, %v", text, back, err)
		}
	}
}

// fullDisk fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A failed write is not reported as a wrong argument.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"version", "version -o json", "ls", "ls -o json", "inspect a", "inspect -o json a", "leaks -o json", "audit",
		"audit -o json", "doctor",
		"doctor -o json",
	} {
		var said bytes.Buffer
		code := Main(append(strings.Fields(args), "--engine", "memory:"), os.Stdin, fullDisk{}, &said)
		if code != exit.Unavailable || !strings.HasSuffix(said.String(), "no space left\n") {
			t.Errorf("%s: code %d, said %q", args, code, said.String())
		}
	}
}
