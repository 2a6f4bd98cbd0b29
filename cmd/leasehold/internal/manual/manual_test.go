//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cli"
)

var testBook = book{version: "v1.2.3", date: "2026-11-26"}

func TestEachCommandHasAPage(t *testing.T) {
	t.Parallel()
	pages, err := testBook.commandPages(cli.Commands())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cli.Commands().Commands() {
		page := pages["leasehold-"+c.Name()]
		for _, want := range []string{
			".TH LEASEHOLD\\-" + strings.ToUpper(c.Name()) + " 1 2026-11-26 \"leasehold v1.2.3\"",
			"\n.SH NAME\nleasehold\\-" + c.Name() + " \\- ", "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n",
			"\n.SH OPTIONS\n", "\n.SH SEE ALSO\n\\fBleasehold\\fR(1)",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q:\n%s", c.Name(), want, page)
			}
		}
		if document := regexp.MustCompile(`docs/\S+`).FindString(strings.ReplaceAll(page, `\-`, "-")); document != "" {
			t.Errorf("the page of %s names %s, which a package has not", c.Name(), document)
		}
	}
	if run := pages["leasehold-run"]; !strings.Contains(run, ".TP\n\\fB\\-w\\fR, \\fB\\-\\-wait\\fR \\fIDUR\\fR\n") {
		t.Errorf("the page of run does not explain --wait:\n%s", run)
	}
}

func TestHelpTextsMayOnlyNamePages(t *testing.T) {
	t.Parallel()
	named := 0
	for _, c := range cli.Commands().Commands() {
		var said bytes.Buffer
		if code := cli.Main([]string{c.Name(), "--help"}, os.Stdin, &said, &said); code != 0 {
			t.Errorf("%s --help exits with %d: %s", c.Name(), code, &said)
		}
		_, pages, err := refer(said.String())
		if err != nil {
			t.Errorf("%s --help: %v", c.Name(), err)
		}
		named += len(pages)
	}
	if named < 15 {
		t.Errorf("all help texts name only %d documents", named)
	}
	page, err := testBook.commandPage(&cobra.Command{Use: "x", Long: "docs/doctor.md has more."})
	if err != nil || !strings.Contains(page, "leasehold\\-doctor(7) has more.") {
		t.Errorf("error %v, page %s", err, page)
	}
	if page, err := testBook.commandPage(&cobra.Command{Use: "x", Long: "docs/nothing.md has more."}); err == nil {
		t.Errorf("no error, page %s", page)
	}
}

func TestRoffTakesTextLiterally(t *testing.T) {
	t.Parallel()
	const want = `it\(aqs \e \-\-x` + "\n" + `\&.SH 'no'`
	if got := roff("it's \\ --x\n.SH no"); got != strings.ReplaceAll(want, "'no'", "no") {
		t.Errorf("got %s", got)
	}
	const text = "One.\n\nTwo:\n  a  b\n\n  c\nThree."
	const page = "One.\n.PP\nTwo:\n.RS 2\n.nf\na  b\n\nc\n.fi\n.RE\nThree.\n"
	if got := paragraphs(text); got != page {
		t.Errorf("got %q", got)
	}
}

func TestTopicsAreDocuments(t *testing.T) {
	t.Parallel()
	for _, topic := range topics {
		text, err := os.ReadFile(filepath.Join("../../../..", topic.document))
		if err != nil {
			t.Fatal(err)
		}
		page := testBook.topicPage(topic, string(text))
		if !strings.Contains(page, ".SH NAME\n") || !strings.Contains(page, ".SH DESCRIPTION\n") {
			t.Errorf("%s has no name or description:\n%.500s", topic.page, page)
		}
		if left := regexp.MustCompile(`\]\([^)]*\)|<!--`).FindString(page); left != "" {
			t.Errorf("%s contains %q", topic.page, left)
		}
	}
}

func TestLinksAndTablesOfTopics(t *testing.T) {
	t.Parallel()
	doctor := topic{"docs/doctor.md", "leasehold-doctor"}
	const document = "# The doctor\n\nSee [engines](engines/README.md#rights), [here](#all) and " +
		"[Redis](https://redis.io).\n\n![picture](x.svg)\n\n" +
		"| Code | Meaning | Fix |\n|---|---|---|\n" +
		"| `a\\|b` | long enough to be wider than a terminal | and longer [still](top.md) |\n"
	page := testBook.topicPage(doctor, document)
	for _, want := range []string{
		"engines (\\fBleasehold-engines\\fP(7)), here and Redis", "https://redis.io", "leasehold-doctor - The doctor",
		"a|b", "Meaning: long enough to be wider than a terminal; Fix: and longer still",
	} {
		if !strings.Contains(strings.ReplaceAll(page, `\-`, "-"), want) {
			t.Errorf("%q is missing in:\n%s", want, page)
		}
	}
	if strings.Contains(page, "picture") || strings.Contains(page, ".TS") {
		t.Errorf("a picture or a wide table is left:\n%s", page)
	}
	small := testBook.topicPage(doctor, "# T\n\n| A | B |\n|---|---|\n| 1 | 2 |\n")
	if !strings.Contains(small, ".TS") {
		t.Errorf("a small table is none any more:\n%s", small)
	}
}

// What makes pages is not in the command.
func TestTheCommandDoesNotLinkTheManual(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "../..").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "/internal/cli\n") || strings.Contains(string(out), "md2man") {
		t.Errorf("the command links:\n%s", out)
	}
}
