package redisserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
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

func TestMissingRedisSkips(t *testing.T) {
	t.Parallel()
	fake := &fakeTest{}
	ForTest(fake, Config{Program: "no-such-program"})
	want := "skip"
	if needed.Servers() {
		want = "fatal"
	}
	if len(fake.said) != 1 || !strings.HasPrefix(fake.said[0], want+": "+ErrMissing.Error()) || len(fake.cleanups) != 0 {
		t.Errorf("the test heard %q, want %s", fake.said, want)
	}
}

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
		if shown := strings.Contains(strings.Join(fake.said, ""), "Ready to accept connections"); shown != failed {
			t.Errorf("failed: %v, the log was shown: %v", failed, shown)
		}
		if s.PID() != 0 {
			t.Error("it runs after the test")
		}
	}
}
