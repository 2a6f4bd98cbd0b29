package engine

import (
	"errors"
	"maps"
	"path/filepath"
	"testing"
)

// server is how an engine with a host and parameters looks.
var server = []opener{{scheme: "server", form: "server://HOST", params: []string{"db", "tls"}}}

func TestURLsAreTakenApart(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]URL{
		"server://h":                    {"server", "//h", map[string]string{}},
		"server://h1,h2:1/x?db=3&tls=a": {"server", "//h1,h2:1/x", map[string]string{"db": "3", "tls": "a"}},
		"server:a%20b":                  {"server", "a%20b", map[string]string{}},
	} {
		got, _, err := parse(raw, server)
		if err != nil || got.Scheme != want.Scheme || got.Location != want.Location || !maps.Equal(got.Params, want.Params) {
			t.Errorf("%s became %+v, %v", raw, got, err)
		}
	}
}

func TestURLsAreRefused(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]URLError{
		"":                        {"a value without a scheme", "", "server://HOST"},
		"host":                    {"a value without a scheme", "host", "server://HOST"},
		"anna:geheim@host":        {"a value without a scheme", "", "server://HOST"},
		"Server://h":              {"a value without a scheme", "", "server://HOST"},
		"other://h":               {"scheme", "other", "server://HOST"},
		"server://h?nosuch=1":     {"parameter", "nosuch", "one of db, tls"},
		"server://h?db=1&db=2":    {"parameter", "db", "given once"},
		"server://h?db=%zzgeheim": {"what follows the question mark", "", "name=value pairs joined by &"},
	} {
		_, _, err := parse(raw, server)
		got, ok := errors.AsType[*URLError](err)
		if !ok || *got != want {
			t.Errorf("%q: %v, want %v", raw, err, &want)
		}
	}
}

func TestEnginesOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, raw := range []string{"memory:", "sqlite:" + filepath.Join(dir, "a b.db"), "sqlite://" + filepath.Join(dir, "c%20.db")} {
		e, shut, err := Open(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if e.Abilities().Name == "" {
			t.Errorf("%s has no name", raw)
		}
		if err := shut(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, file := range []string{"a b.db", "c%20.db"} {
		if found, err := filepath.Glob(filepath.Join(dir, file)); err != nil || len(found) != 1 {
			t.Errorf("%s is not there: %v %v", file, found, err)
		}
	}
}
