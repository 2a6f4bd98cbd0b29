//go:build unix

package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestAReleaseSaysWhatItWasBuiltFrom(t *testing.T) {
	defer func() { releaseVersion, releaseRevision, releaseTime = "", "", "" }()
	before := readBuild()
	releaseVersion, releaseRevision, releaseTime = "v1.2.3", "0123abcd", "2026-11-26T00:00:00Z"
	want := before
	want.Version, want.Revision, want.Time, want.Modified = "v1.2.3", "0123abcd", "2026-11-26T00:00:00Z", false
	if got := readBuild(); got != want || before.Version == "v1.2.3" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The linker ignores variables that do not exist.
func TestWhatTheLinkerSetsExists(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile("../../../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("release_build.go")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`-X (\S+)\.(\w+)=`).FindAllStringSubmatch(string(config), -1)
	for _, s := range set {
		if s[1] != "github.com/leasehold-go/leasehold/cmd/leasehold/internal/cli" ||
			!strings.Contains(string(source), s[2]) {
			t.Errorf("%s.%s is no variable of this package", s[1], s[2])
		}
	}
	if len(set) != 3 {
		t.Errorf("the linker sets %v", set)
	}
}
