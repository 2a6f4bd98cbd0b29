package zookeeperserver

import (
	"fmt"
	"strings"
	"testing"
)

// fakeTest remembers what a test was told.
type fakeTest struct {
	failed   bool
	said     []string
	cleanups []func()
}

func (f *fakeTest) Helper()          {}
func (f *fakeTest) Failed() bool     { return f.failed }
func (f *fakeTest) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTest) say(what, format string, args ...any) {
	f.said = append(f.said, what+": "+fmt.Sprintf(format, args...))
}
func (f *fakeTest) Logf(format string, args ...any)   { f.say("log", format, args...) }
func (f *fakeTest) Fatalf(format string, args ...any) { f.say("fatal", format, args...) }
func (f *fakeTest) Skipf(format string, args ...any)  { f.say("skip", format, args...) }

func TestFailedTestShowsTheLog(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		fake := &fakeTest{failed: failed}
		s := ForTest(fake, Config{})
		if s == nil {
			t.Skip(fake.said)
		}
		for _, c := range fake.cleanups {
			c()
		}
		if shown := strings.Contains(strings.Join(fake.said, ""), "the log of the server"); shown != failed {
			t.Errorf("failed: %v, the log was shown: %v", failed, shown)
		}
		if s.PID() != 0 {
			t.Error("it runs after the test")
		}
	}
}
