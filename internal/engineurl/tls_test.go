package engineurl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file without an end does not fill the memory.
func TestCertificatesAreSmallFiles(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large.pem")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, longestPEM+1); err != nil {
		t.Fatal(err)
	}
	for _, file := range []TLS{{On: true, CA: large}, {On: true, Cert: large, Key: large}} {
		if _, err := file.Config("redis"); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
			t.Errorf("%+v: %v", file, err)
		}
	}
}
