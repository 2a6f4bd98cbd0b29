package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// top is the top folder of the repository.
const top = "../.."

// block is a block of code in a document.
type block struct {
	page     string // the document, from the top folder
	line     int    // of the first line of code
	language string
	text     string
	leftOut  string // why it is not tested, or ""
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// pages returns the documents for users, from the top folder.
func pages(t *testing.T) (pages []string) {
	t.Helper()
	// The cache of results does not see files of other modules, but it sees this. Without it, documents that have
	// changed could count as tested.
	_ = os.Getenv("LEASEHOLD_NOW")
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/engines/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, path := range found {
			pages = append(pages, strings.TrimPrefix(path, top+"/"))
		}
	}
	return pages
}

// blocksOf returns the blocks of a document that are in one of the languages.
func blocksOf(t *testing.T, page string, languages ...string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	for _, b := range parse(page, string(text)) {
		for _, language := range languages {
			if b.language == language {
				found = append(found, b)
			}
		}
	}
	return found
}

var (
	fence     = regexp.MustCompile("^( *)```(.*)$")
	notTested = regexp.MustCompile(`^ *<!-- not tested: (.+) -->$`)
)

// parse returns all blocks of a document.
func parse(page, text string) (blocks []block) {
	inside, indent, reason := false, "", ""
	for n, line := range strings.Split(text, "\n") {
		switch found := fence.FindStringSubmatch(line); {
		case found != nil && inside:
			inside = false
		case found != nil:
			inside, indent = true, found[1]
			blocks = append(blocks, block{page: page, line: n + 2, language: found[2], leftOut: reason})
			reason = ""
		case inside:
			blocks[len(blocks)-1].text += strings.TrimPrefix(line, indent) + "\n"
		case strings.TrimSpace(line) != "":
			reason = ""
			if found := notTested.FindStringSubmatch(line); found != nil {
				reason = found[1]
			}
		}
	}
	return blocks
}

func TestBlocksAreFoundInDocuments(t *testing.T) {
	t.Parallel()
	const text = "# Title\n\n```sh\nfirst\n\nsecond\n```\n\n<!-- not tested: no server -->\n```go\nx := 1\n```\n" +
		"<!-- not tested: a list -->\ntext\n\n   ```sh\n   third\n     deeper\n   ```\n```\nno language\n```\n"
	want := []block{
		{"p.md", 4, "sh", "first\n\nsecond\n", ""},
		{"p.md", 11, "go", "x := 1\n", "no server"},
		{"p.md", 17, "sh", "third\n  deeper\n", ""},
		{"p.md", 21, "", "no language\n", ""},
	}
	got := parse("p.md", text)
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// report logs what was tested and what was left out, and fails if that is more than is allowed.
func report(t *testing.T, tested int, leftOut []block, allowed int) {
	t.Helper()
	t.Logf("%d blocks were tested, %d were left out", tested, len(leftOut))
	for _, b := range leftOut {
		t.Logf("left out: %s: %s", b, b.leftOut)
	}
	if len(leftOut) > allowed {
		t.Errorf("%d blocks are left out, %d are allowed: let them be tested", len(leftOut), allowed)
	}
}
