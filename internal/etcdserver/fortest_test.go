package etcdserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
)

// fakeTest is a test that notes what happens to it.
type fakeTest struct {
	failed          bool
	skipped, logged string
	ends            []func()
}

func (f *fakeTest) Helper()                       {}
func (f *fakeTest) Cleanup(end func())            { f.ends = append(f.ends, end) }
func (f *fakeTest) Failed() bool                  { return f.failed }
func (f *fakeTest) Logf(text string, args ...any) { f.logged += fmt.Sprintf(text, args...) }
func (f *fakeTest) Fatalf(string, ...any)         { f.failed = true }
func (f *fakeTest) Skipf(text string, args ...any) {
	f.skipped += fmt.Sprintf(text, args...)
}

func TestATestWithoutEtcdIsSkipped(t *testing.T) {
	t.Parallel()
	var one, three fakeTest
	ForTest(&one, Config{Program: "no-such-program"})
	ClusterForTest(&three, 3, Config{Program: "no-such-program"})
	for _, f := range []*fakeTest{&one, &three} {
		if f.failed != needed.Servers() || !f.failed && !strings.Contains(f.skipped, "apt-get install") || len(f.ends) != 0 {
			t.Errorf("failed: %v, skipped: %q", f.failed, f.skipped)
		}
	}
}

func TestATestEndsItsServersAndShowsTheLogIfItFails(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{Volatile: true}) // skips the test if there is no etcd
	for _, fails := range []bool{false, true} {
		var f fakeTest
		s := ForTest(&f, Config{Volatile: true})
		f.failed = fails
		for _, end := range f.ends {
			end()
		}
		if s.PID() != 0 || strings.Contains(f.logged, "ends with") != fails {
			t.Errorf("fails: %v, process %d, logged %q", fails, s.PID(), f.logged)
		}
	}
}
