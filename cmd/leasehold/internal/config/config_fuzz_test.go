//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a config file contains, its error quotes no value: it may be a password.
func FuzzConfigFiles(f *testing.F) {
	const secret = "Zq7Xw9Kv"
	for _, text := range []string{
		`engine = "redis://anna:@h"`, `engine = 'redis://anna:`, `engine = ["`, `engine = {a = "`, `engine = 7 # `, "engine = \"\"\"\n", "[engine]\npassword = \"", `engine."a" = "`, `password = "`, "engine\n= \"", "\xff",
		`engine = "\u`, "engine = \"a\"\nengine = \"", "[[engine]]\n", "a = 1979-05-27T07:32:00Z", `"engine" = "`, `engine = 1e400`, strings.Repeat("[", 2000), `engine = ` + strings.Repeat("[", 2000), "engine = \"\x00", "[a]\n[\"redis://anna:",
	} {
		for at := range 3 {
			f.Add(text, at*len(text)/2)
		}
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = min(max(at, 0), len(text))
		// A value follows an equals sign. The name of the key before it may be shown.
		said := text[:at] + "\nx = \"" + secret + "\"" + text[at:]
		if err := os.WriteFile(path, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		engine, err := readFile(path, false)
		if err != nil && (strings.Contains(err.Error(), secret) || len(engine) > 0) {
			t.Fatalf("%q: %q, %v", said, engine, err)
		}
	})
}
