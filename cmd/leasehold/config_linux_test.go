package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A config file of the system that a user may not read, since it has a password, may name an engine. He must say his
// own then: no other engine is used in its place.
func TestConfigFileOfTheSystemThatAUserMayNotRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t).noEngine()
	sh, folder := plainUserOf(t, m, os.Args[0])
	file := filepath.Join(folder, "config.toml")
	const text = "engine = \"redis://:geheim@127.0.0.1:1\"\nttl = \"7s\"\n"
	if err := os.WriteFile(file, []byte(text), 0o000); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "LEASEHOLD_TEST_HELPER=configured", "LEASEHOLD_TEST_SYSTEM_FILE="+file)
	for _, words := range []string{"ls", "run a -- echo ran", "config"} {
		r := sh(`"$LH" `+words).want(t, 78)
		for _, says := range []string{file + ": this user may not read it", "say --engine or LEASEHOLD_ENGINE",
			`engine = "@FILE"`} {
			if !strings.Contains(r.err, says) || r.out != "" || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%s: stdout %q, stderr %q, want that it says %q", words, r.out, r.err, says)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(folder, ".local")); err == nil {
		t.Error("another engine was used")
	}
	for _, own := range []string{`"$LH" --engine memory: run a -- echo ran`,
		`LEASEHOLD_ENGINE=memory: "$LH" run a -- echo ran`} {
		if r := sh(own).want(t, 0); r.out != "ran\n" || r.err != "" {
			t.Errorf("%s: stdout %q, stderr %q", own, r.out, r.err)
		}
	}
	if r := sh(`LEASEHOLD_ENGINE=memory: "$LH" config`).want(t, 0); !strings.Contains(r.err, "may not read it") ||
		!strings.Contains(r.out, "memory:") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	mine := filepath.Join(folder, ".config", "leasehold", "config.toml")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("engine = \"memory:\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := sh(`"$LH" run a -- echo ran`).want(t, 0); r.out != "ran\n" || r.err != "" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
}
