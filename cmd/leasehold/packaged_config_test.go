//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The config file in packages sets nothing, and what it suggests is accepted.
func TestThePackagedConfig(t *testing.T) {
	t.Parallel()
	packaged, err := os.ReadFile("../../deploy/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	suggested := regexp.MustCompile(`(?m)^# ([a-z_]+ = .*)$`).FindAllStringSubmatch(string(packaged), -1)
	if len(suggested) == 0 {
		t.Error("it suggests nothing")
	}
	texts := []string{string(packaged)}
	for _, s := range suggested {
		texts = append(texts, strings.Replace(s[1], "redis://redis.example.com", "memory:", 1)+"\n")
	}
	for _, text := range texts {
		m := newMachine(t)
		m.env = slices.DeleteFunc(m.env, func(set string) bool { return strings.HasPrefix(set, "LEASEHOLD_ENGINE=") })
		file := filepath.Join(m.home, ".config", "leasehold", "config.toml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.do("ls").want(t, 0)
	}
}
