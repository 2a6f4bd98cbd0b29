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

// selectedFault is the environment variable that names the selected fault.
const selectedFault = "LEASEHOLD_PLANTED"

// Fault is a mistake that is planted in the code, as edits, each inside one function.
type Fault struct {
	Name  string
	Edits []Edit
	Test  string // must fail
	Says  string // a regular expression that its output must match
}

// Find fails t for each fault that the tests of this folder do not find. It compiles the tests
// once, with all faults in them. It runs them with each fault selected, with args, and once with
// none selected, without args, when they must pass. A command that these tests build has the faults
// too, and must be told which one is selected: see [Environ].
func Find(t *testing.T, faults []Fault, args ...string) {
	t.Helper()
	program := build(t, faults)
	healthy := map[string]bool{}
	for _, f := range faults {
		if !healthy[f.Test] {
			healthy[f.Test] = true
			t.Run("none in "+f.Test, func(t *testing.T) {
				t.Parallel()
				if out, err := program.run(Fault{Test: f.Test}, nil); err != nil {
					t.Errorf("%s fails without a fault: %v\n%s", f.Test, err, out)
				}
			})
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := program.run(f, args)
			if err == nil {
				t.Fatalf("%s passes with this fault", f.Test)
			}
			if !strings.Contains(out, "--- FAIL: "+f.Test) || !regexp.MustCompile(f.Says).MatchString(out) {
				t.Errorf("%s did not fail by itself, saying %q: %v\n%s", f.Test, f.Says, err, out)
			}
		})
	}
}

// Check fails t if the text of a fault is no longer in the code. It does not compile anything.
func Check(t *testing.T, faults []Fault) {
	t.Helper()
	planted(t, faults)
}

// Environ returns the variable that selects the fault, for the environment of a command that the
// tests start. It is empty if no fault is selected.
func Environ() []string {
	if name := os.Getenv(selectedFault); name != "" {
		return []string{selectedFault + "=" + name}
	}
	return nil
}

// program is the tests of this folder with all faults in them.
type program struct {
	path    string
	overlay string // the -overlay file
}

// build compiles the tests of this folder with all faults in them.
func build(t *testing.T, faults []Fault) program {
	t.Helper()
	p := program{filepath.Join(t.TempDir(), "planted.test"), list(t, planted(t, faults))}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay="+p.overlay, "-o", p.path, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("with the faults planted it does not build: %v\n%s", err, out)
	}
	return p
}

// run runs the test that must find the fault. What the test builds has the faults in it, too.
func (p program) run(f Fault, args []string) (output string, err error) {
	cmd := exec.Command(p.path, append([]string{"-test.run=" + pattern(f.Test), "-test.timeout=30m"}, args...)...)
	cmd.Env = append(os.Environ(), selectedFault+"="+f.Name, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+p.overlay)
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "no tests to run") {
		err = fmt.Errorf("there is no test %s", f.Test)
	}
	return string(out), err
}

// pattern returns the regular expression for one test, or for one of its subtests.
func pattern(test string) string {
	return "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
}
