package needed

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Fake is a test that records what happens to it, for tests of packages that start servers. The
// zero value is ready for use. It is not safe for concurrent use.
type Fake struct {
	said   []string
	failed bool
	ends   []func()
}

// Run runs a test until it ends, is skipped or fails fatally, and then the functions registered
// with Cleanup.
func (f *Fake) Run(test func(t TB)) {
	var running sync.WaitGroup
	running.Go(func() { test(f) }) // test may end the goroutine
	running.Wait()
	for _, end := range slices.Backward(f.ends) {
		end()
	}
}

// Said reports whether the test has printed what, such as "skip: there is no server".
func (f *Fake) Said(what string) bool { return strings.Contains(strings.Join(f.said, "\n"), what) }

// Helper implements [TB].
func (f *Fake) Helper() {}

// Cleanup implements [TB].
func (f *Fake) Cleanup(end func()) { f.ends = append(f.ends, end) }

// Failed implements [TB].
func (f *Fake) Failed() bool { return f.failed }

// Logf implements [TB].
func (f *Fake) Logf(format string, args ...any) { f.say("log", format, args...) }

// Fatalf implements [TB].
func (f *Fake) Fatalf(format string, args ...any) {
	f.failed = true
	f.say("fatal", format, args...)
	runtime.Goexit()
}

// Skipf implements [TB].
func (f *Fake) Skipf(format string, args ...any) {
	f.say("skip", format, args...)
	runtime.Goexit()
}

func (f *Fake) say(what, format string, args ...any) {
	f.said = append(f.said, what+": "+fmt.Sprintf(format, args...))
}
