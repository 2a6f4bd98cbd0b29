package zookeeperserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The jars of an unpacked release are used instead of those of the system. Here these are the same.
func TestRelease(t *testing.T) {
	if _, err := os.Stat(jars[0]); err != nil {
		ForTest(t, Config{}).Close()
		return // another release is in use
	}
	release := t.TempDir()
	noErr(t, os.Mkdir(filepath.Join(release, "lib"), 0o700))
	t.Setenv(Env, release)
	if _, err := Start(Config{}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), release) {
		t.Errorf("without jars: %v", err)
	}
	for _, jar := range jars {
		noErr(t, os.Symlink(jar, filepath.Join(release, "lib", filepath.Base(jar))))
	}
	s := ForTest(t, Config{})
	if !strings.Contains(strings.Join(s.program.arguments(s.Dir()), " "), filepath.Join(release, "lib", "*")) {
		t.Errorf("it was started with %+v", s.program)
	}
}

// A machine without Java has no ZooKeeper.
func TestMissingJava(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(Config{}); !errors.Is(err, ErrMissing) {
		t.Errorf("without java: %v", err)
	}
}
