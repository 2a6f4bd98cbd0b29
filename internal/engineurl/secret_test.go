package engineurl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{"geheim": "geheim", "geheim\n": "geheim", "ge heim \r\n": "ge heim ",
		"": "", "\n": "", "a\nb": "", strings.Repeat("x", 64<<10+1): ""} {
		path := filepath.Join(dir, "p")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for variables, want := range map[*map[string]string]string{
			{"A_FILE": path}: want, {"A": "own", "A_FILE": path}: "own", {}: "",
		} {
			got, err := engineurl.Secret(func(name string) string { return (*variables)[name] }, "A")
			if got != want || (err == nil) != (want != "" || len(*variables) == 0) ||
				err != nil && (!strings.Contains(err.Error(), "A_FILE") || !strings.Contains(err.Error(), path)) {
				t.Errorf("%.10q and %v: %q, %v, want %q", text, *variables, got, err, want)
			}
		}
	}
	if _, err := engineurl.SecretFile(filepath.Join(dir, "nosuch")); err == nil {
		t.Error("a file that is not there")
	}
}
