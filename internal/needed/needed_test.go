package needed

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestServersAreNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"CI", "true", true}, {"CI", "", false}, {Env, "1", true}, {Env, "", false}, {"OTHER", "true", false}} {
		got := servers(func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if got != c.want {
			t.Errorf("with %s=%s it is needed: %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestStarted(t *testing.T) {
	t.Parallel()
	missing := errors.New("it is missing")
	without := "skip: here: it is missing"
	if Servers() {
		without = "fatal: here: it is missing"
	}
	for _, c := range []struct {
		err  error
		want string
	}{{nil, "log: it goes on"}, {fmt.Errorf("here: %w", missing), without},
		{errors.New("it is broken"), "fatal: it is broken"}} {
		var f Fake
		f.Run(func(t TB) {
			Started(t, c.err, missing)
			t.Logf("it goes on")
		})
		if !slices.Equal(f.said, []string{c.want}) {
			t.Errorf("%v: the test heard %q, want %q", c.err, f.said, c.want)
		}
	}
}

// server is one that counts how often it is closed, and fails to.
type server struct{ closed int }

func (s *server) String() string { return "a server" }
func (s *server) Log() string    { return "its last words" }
func (s *server) Close() error   { s.closed++; return errors.New("it does not want to") }

func TestEnd(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		var f Fake
		one, other := &server{}, &server{}
		f.Run(func(t TB) {
			End(t, one, other)
			if one.closed != 0 {
				t.Logf("it was closed at once")
			}
			if fails {
				t.Fatalf("on purpose")
			}
		})
		if one.closed != 1 || other.closed != 1 || f.Said("at once") ||
			!f.Said("log: a server: closing it: it does not want to") || f.Said("its last words") != fails {
			t.Errorf("fails: %v, closed %d and %d times, heard %q", fails, one.closed, other.closed, f.said)
		}
	}
}

func TestTLS(t *testing.T) {
	for value, want := range map[string]string{"": "log: it goes on",
		"1": "skip: LEASEHOLD_WITHOUT_TLS is set: the servers were built without TLS"} {
		t.Setenv(EnvWithoutTLS, value)
		var f Fake
		f.Run(func(t TB) {
			TLS(t)
			t.Logf("it goes on")
		})
		if !slices.Equal(f.said, []string{want}) {
			t.Errorf("with %q the test heard %q, want %q", value, f.said, want)
		}
	}
}
