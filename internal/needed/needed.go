// Package needed decides whether tests may be skipped when servers are missing, and ends servers
// that were started.
package needed

import (
	"errors"
	"os"
)

// Env is an environment variable. If it is not empty, a missing server is a failure of the tests
// that need it. CI has the same effect.
const Env = "LEASEHOLD_NEED_SERVERS"

// EnvWithoutTLS is an environment variable. If it is not empty, the servers were built without TLS:
// tests of TLS are skipped.
const EnvWithoutTLS = "LEASEHOLD_WITHOUT_TLS"

// TB is the part of testing.TB that is needed to start servers for tests.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Servers reports whether tests must fail, rather than be skipped, if a server is missing: CI is
// true, or Env is set.
func Servers() bool { return servers(os.Getenv) }

// servers is Servers with a given environment.
func servers(getenv func(string) string) bool {
	return getenv("CI") == "true" || getenv(Env) != ""
}

// Started ends the test if a server did not start. If err is missing, there is no such server on
// this machine, and the test is skipped unless servers are needed.
func Started(t TB, err, missing error) {
	t.Helper()
	switch {
	case errors.Is(err, missing) && !Servers():
		t.Skipf("%v", err)
	case err != nil:
		t.Fatalf("%v", err)
	}
}

// TLS skips the test if the servers were built without TLS.
func TLS(t TB) {
	t.Helper()
	if os.Getenv(EnvWithoutTLS) != "" {
		t.Skipf("%s is set: the servers were built without TLS", EnvWithoutTLS)
	}
}

// Server is something that a test has to end.
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
