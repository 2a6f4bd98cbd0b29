//go:build unix

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestColumnsStandInLineAndNeverGetNarrower(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := columns{out: &out}
	for _, piece := range [][][]string{
		{{"NAME", "TOKEN", "HOLDER"}, {"a", "1", "x"}, {"Straße", "123456", "y z"}},
		{},
		{{"b", "2", "x"}},
		{{"much longer", "3", ""}},
		{{"c", "4", "x"}},
	} {
		for _, row := range piece {
			table.addRow(row...)
		}
		if err := table.flush(); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Join([]string{
		"NAME    TOKEN   HOLDER",
		"a       1       x",
		"Straße  123456  y z",
		"b       2       x",
		"much longer  3       ",
		"c            4       x",
		"",
	}, "\n")
	if out.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", out.String(), want)
	}
}

// A short search shows no progress. Otherwise the progress is erased before anything else is printed, and at the end.
func TestProgressIsErased(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{out: &out, next: time.Now().Add(time.Hour)}
	p.show(1)
	p.end()
	if out.Len() != 0 {
		t.Errorf("too early: %q", out.String())
	}
	p.next = time.Time{}
	p.show(1000)
	p.show(2000) // too soon after the last one
	_ = p.whileHidden(func() error { out.WriteString("a line\n"); return nil })
	p.next = time.Time{}
	p.show(3000)
	p.end()
	p.end()
	const erase = "\r\x1b[K"
	want := "\rsearching: 1000 keys looked through\x1b[K" + erase + "a line\n" +
		"\rsearching: 3000 keys looked through\x1b[K" + erase
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	nobody := &progress{}
	nobody.show(1)
	nobody.end()
}

func TestChunksAreBounded(t *testing.T) {
	t.Parallel()
	var p pace
	n := 1
	for !p.due() {
		n++
	}
	if n > chunkSize {
		t.Errorf("a piece has %d entries", n)
	}
	p.due()
	p.since = time.Now().Add(-chunkTime)
	if !p.due() {
		t.Error("an entry that has waited is not printed")
	}
}
