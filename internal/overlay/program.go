package overlay

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// chosen is the variable of the environment that names the fault which is awake.
const chosen = "LEASEHOLD_PLANTED"

// Fault is a mistake that is planted in the code, as edits, each inside of one function.
type Fault struct {
	Name  string
	Edits []Edit
	Test  string // which must fail
	Says  string // what it must say then: a regular expression
}

// Find fails t for each of the faults that the tests of this folder let through. The tests are compiled once, with all faults in them,
// and run with each fault awake, with args, and once with none awake, without args, when they must pass.
func Find(t *testing.T, faults []Fault, args ...string) {
	t.Helper()
	program := build(t, faults)
	healthy := map[string]bool{}
	for _, f := range faults {
		if !healthy[f.Test] {
			healthy[f.Test] = true
			t.Run("none in "+f.Test, func(t *testing.T) {
				t.Parallel()
				if out, err := run(program, Fault{Test: f.Test}, nil); err != nil {
					t.Errorf("%s fails without a fault: %v\n%s", f.Test, err, out)
				}
			})
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := run(program, f, args)
			if err == nil {
				t.Fatalf("%s passes with this fault", f.Test)
			}
			if !strings.Contains(out, "--- FAIL: "+f.Test) || !regexp.MustCompile(f.Says).MatchString(out) {
				t.Errorf("%s did not fail by itself, saying %q: %v\n%s", f.Test, f.Says, err, out)
			}
		})
	}
}

// Check fails t if a fault has no place in the code any more. It does not compile anything.
func Check(t *testing.T, faults []Fault) {
	t.Helper()
	planted(t, faults)
}

// build compiles the tests of this folder with all faults in them, asleep.
func build(t *testing.T, faults []Fault) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "planted.test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay="+list(t, planted(t, faults)), "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("with the faults planted it does not build: %v\n%s", err, out)
	}
	return program
}

// run runs the test that must find the fault.
func run(program string, f Fault, args []string) (output string, err error) {
	cmd := exec.Command(program, append([]string{"-test.run=" + pattern(f.Test), "-test.timeout=30m"}, args...)...)
	cmd.Env = append(os.Environ(), chosen+"="+f.Name)
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "no tests to run") {
		err = fmt.Errorf("there is no test %s", f.Test)
	}
	return string(out), err
}

// pattern is the regular expression that stands for one test, or for one subtest of it.
func pattern(test string) string {
	return "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
}
