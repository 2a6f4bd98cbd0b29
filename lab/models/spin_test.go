//go:build long || mutants

package models

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The models.
const (
	fence  = "fence.pml"  // of redlock
	pass   = "pass.pml"   // of redlock under contention
	recall = "recall.pml" // of Linger
)

// bounds are what one run may use. A run that reaches one of them has shown nothing.
type bounds struct {
	optimise  string // of the C compiler: only for long runs are its seconds worth while
	compress  string // how states are stored
	megabytes int
	depth     int // steps in a row
	hash      int // logarithm of the size of the table of states
	timeout   time.Duration
}

// exact keeps each state whole, only packed: no two states are taken for one.
const exact = "-DCOLLAPSE"

var small = bounds{
	optimise:  "-O0",
	compress:  exact,
	megabytes: 2000,
	depth:     20_000,
	hash:      20,
	timeout:   10 * time.Minute,
}

// verdict is what Spin says of one run.
type verdict struct {
	states  int
	took    time.Duration
	failed  string // the assertion that does not hold, or "" if there is none
	model   string
	folder  string // of the run, until the end of the test
	defines []string
}

var (
	violated     = regexp.MustCompile(`pan:\d+: assertion violated (.+) \(at depth \d+\)`)
	otherErrors  = regexp.MustCompile(`pan:\d+: .+`)
	storedStates = regexp.MustCompile(`(?m)^ *([0-9.e+]+) states, stored`)
	errorCount   = regexp.MustCompile(`errors: (\d+)`)
)

// runSpin lets Spin go through a model with these switches, until the first error.
func runSpin(t *testing.T, model string, b bounds, defines string) verdict {
	t.Helper()
	source, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	v := verdict{model: model, folder: t.TempDir(), defines: strings.Fields(defines)}
	if err := os.WriteFile(filepath.Join(v.folder, model), source, 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), b.timeout)
	defer cancel()
	v.run(t, ctx, "spin", append(v.switches(), "-a", model)...)
	v.run(t, ctx, "cc", b.optimise, "-w", "-DSAFETY", b.compress, fmt.Sprintf("-DMEMLIM=%d", b.megabytes), "-o", "pan",
		"pan.c")
	out := v.run(t, ctx, "./pan", fmt.Sprintf("-m%d", b.depth), fmt.Sprintf("-w%d", b.hash),
		fmt.Sprintf("-Q%d", int(b.timeout.Minutes())+1))
	v.took = time.Since(start)
	v.read(t, out)
	return v
}

func (v *verdict) switches() (all []string) {
	for _, d := range v.defines {
		all = append(all, "-D"+d)
	}
	return all
}

// run runs a program in the folder of the run and returns what it prints. If the test is killed, a checker
// that runs for long ends, too, since nobody reads its progress.
func (v *verdict) run(t *testing.T, ctx context.Context, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = v.folder
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v %v\n%s", name, err, context.Cause(ctx), lastLines(string(out), 40))
	}
	return string(out)
}

// read reads the verdict from the output of the checker. Any other result than "it went through everything"
// and "an assertion does not hold" is a failure of the test: too little memory, too little depth, a deadlock.
func (v *verdict) read(t *testing.T, out string) {
	t.Helper()
	out, _, _ = strings.Cut(out, "\nunreached in ") // TestThingsHappen is about what is not reached
	n := storedStates.FindStringSubmatch(out)
	e := errorCount.FindStringSubmatch(out)
	if n == nil || e == nil {
		t.Fatalf("the checker did not finish:\n%s", lastLines(out, 40))
	}
	states, err := strconv.ParseFloat(n[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	v.states = int(states)
	if a := violated.FindStringSubmatch(out); a != nil {
		v.failed = strings.Join(strings.Fields(a[1]), "")
		return
	}
	if e[1] != "0" || strings.Contains(out, "Search not completed") || strings.Contains(out, "too small") ||
		otherErrors.MatchString(out) {
		t.Fatalf("the checker shows nothing:\n%s\n%s", lastLines(out, 40), v.trail(t))
	}
}

// trail returns the last steps on the way to the error.
func (v *verdict) trail(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "spin", append(v.switches(), "-t", "-p", "-g", "-l", v.model)...)
	cmd.Dir = v.folder
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("spin -t: %v\n%s", err, lastLines(string(out), 5))
	}
	return lastLines(string(out), 120)
}

// lastLines returns the last lines of a text.
func lastLines(text string, lines int) string {
	b := []byte(text)
	for at := len(b); lines > 0 && at > 0; lines-- {
		if at = bytes.LastIndexByte(b[:at], '\n'); at < 0 {
			return text
		}
		text = string(b[at+1:])
	}
	return text
}

// needSpin fails the test if Spin or the C compiler is missing.
func needSpin(t *testing.T) {
	t.Helper()
	for command, packages := range map[string]string{"spin": "spin", "cc": "gcc libc6-dev"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Fatalf("%s is missing: install the package(s) %s, or what your system calls them: scripts/need.sh %s %s",
				command, packages, command, packages)
		}
	}
}

// wantFailed lets Spin go through a model, and expects that this assertion, as pan writes it, does not hold.
func wantFailed(t *testing.T, model, defines, assertion string) {
	t.Helper()
	v := runSpin(t, model, small, defines)
	if v.failed != assertion {
		t.Errorf("%s: after %d states this does not hold: %q; want %q", defines, v.states, v.failed, assertion)
	}
}
