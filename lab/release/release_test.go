package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/release/publish"
)

const top = "../.."

func TestLicencesAreCheckedForWhatIsReleased(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(top + "/.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^    targets: \[(.*)\]$`).FindSubmatch(config)
	if line == nil {
		t.Fatal(".goreleaser.yaml names no targets in one line, which scripts/snapshot.sh needs, too")
	}
	var released []string
	for target := range strings.SplitSeq(string(line[1]), ", ") {
		words := strings.Split(target, "_")
		released = append(released, words[0]+"/"+words[1])
	}
	if !slices.Equal(released, systems) {
		t.Errorf("released are %q, and checked %q", released, systems)
	}
}

func TestEachPublicModuleIsUsedByAProgram(t *testing.T) {
	t.Parallel()
	modules, err := publish.Modules(top)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, m := range modules {
		_, has := programs[m.Dir]
		if has != m.Public() {
			t.Errorf("%s: has a program: %v, is public: %v", m.Dir, has, m.Public())
		}
		if has {
			used++
		}
	}
	if used < 9 {
		t.Errorf("only %d modules are public", used)
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"publish"}, {"commit"}, {"api", "read"}, {"check", "v0.1.0", "v0.2.0"}} {
		if err := run(args); err != errUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}
