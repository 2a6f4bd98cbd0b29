// Package needed says whether tests may do without the servers that they start, and ends those that were started.
package needed

import (
	"errors"
	"os"
)

// Env is the variable that, if it is not empty, makes a missing server a failure of the tests that need it. So does CI.
const Env = "LEASEHOLD_NEED_SERVERS"

// EnvWithoutTLS is the variable that, if it is not empty, says that the servers were built without TLS: tests of that are skipped, and say so.
const EnvWithoutTLS = "LEASEHOLD_WITHOUT_TLS"

// TB is the part of testing.TB that those use who start servers for tests.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Servers reports whether tests must fail, and not be skipped, without a server that they need: if CI is true, or Env is set.
func Servers() bool { return servers(os.Getenv) }

// servers is Servers in some environment.
func servers(getenv func(string) string) bool {
	return getenv("CI") == "true" || getenv(Env) != ""
}

// Started ends the test if a start failed: it is skipped if err is missing, which says that there is no such server on this machine, unless servers are needed.
func Started(t TB, err, missing error) {
	t.Helper()
	switch {
	case errors.Is(err, missing) && !Servers():
		t.Skipf("%v", err)
	case err != nil:
		t.Fatalf("%v", err)
	}
}

// TLS skips the test if the servers are said to be without TLS.
func TLS(t TB) {
	t.Helper()
	if os.Getenv(EnvWithoutTLS) != "" {
		t.Skipf("%s is set: the servers were built without TLS", EnvWithoutTLS)
	}
}

// Server is what a test has to end.
type Server interface {
	String() string // which server it is
	Log() string    // the end of its log
	Close() error
}

// End closes servers at the end of the test, and shows their logs if it has failed.
func End[S Server](t TB, servers ...S) {
	t.Cleanup(func() {
		for _, s := range servers {
			if t.Failed() {
				t.Logf("%v: its log ends with:\n%s", s, s.Log())
			}
			if err := s.Close(); err != nil {
				t.Logf("%v: closing it: %v", s, err)
			}
		}
	})
}
