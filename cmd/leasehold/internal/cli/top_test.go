//go:build unix

package cli

import "testing"

// The label of an engine has no user, password or parameters, whatever they look like.
func TestEngineLabelsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"memory:":                               "memory:",
		"sqlite:locks.db":                       "sqlite:locks.db",
		"sqlite:///var/a@b.db":                  "sqlite:///var/a@b.db",
		"redis://host:1/2?prefix=geheim":        "redis://host:1/2",
		"redis://anna:geheim@host":              "redis://host",
		"redis://:ge@heim@host/2":               "redis://host/2",
		"redis://anna:ge/heim@host":             "redis://host",
		"redis+unix://:geheim@/run/redis.sock":  "redis+unix:///run/redis.sock",
		"redis+sentinel://a:geheim@h1,h2:3/m":   "redis+sentinel://h1,h2:3/m",
		"redlock://a:geheim@h1,h2,h3?timeout=1": "redlock://h1,h2,h3",
		"geheim":                                "",
	} {
		if got := withoutSecrets(raw); got != want {
			t.Errorf("%s is shown as %q, want %q", raw, got, want)
		}
	}
}

func TestAmbiguousLettersAreWideOnRequest(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "1": true, "True": true, "yes": true} {
		if got := hasWideAmbiguous(func(string) string { return value }); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
