package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// store puts the version of a module into the folder of a proxy, and returns its lines for the go.sum of others.
func store(root, proxy string, m Module, version string) (sums []string, err error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Join(dir, version)
	gomod, err := os.ReadFile(modFilePath(root, m))
	if err != nil {
		return nil, err
	}
	made, err := git(root, "log", "-1", "--format=%cI")
	if err != nil {
		return nil, err
	}
	when, err := time.Parse(time.RFC3339, strings.TrimSpace(made))
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, when.UTC()})
	if err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{
		base + ".mod": gomod, base + ".info": info, filepath.Join(dir, "list"): []byte(version + "\n"),
	} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return nil, err
		}
	}
	if err := writeZip(root, base+".zip", m, version); err != nil {
		return nil, err
	}
	zipSum, err := dirhash.HashZip(base+".zip", dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(base + ".mod")
	})
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s", m.Path, version, zipSum),
		fmt.Sprintf("%s %s/go.mod %s", m.Path, version, modSum),
	}, nil
}

// writeZip writes the zip of a module: the files that git knows, without those of modules below it.
func writeZip(root, name string, m Module, version string) (err error) {
	listed, err := git(root, "ls-files", "-z", "--", m.Dir)
	if err != nil {
		return err
	}
	var files []zip.File
	licensed := false
	for _, at := range strings.Split(strings.TrimSuffix(listed, "\x00"), "\x00") {
		inside := at
		if m.Dir != "." {
			inside = strings.TrimPrefix(at, m.Dir+"/")
		}
		licensed = licensed || inside == "LICENSE"
		files = append(files, file{inside: inside, at: filepath.Join(root, filepath.FromSlash(at))})
	}
	if !licensed { // the go command takes that of the repository, too
		files = append(files, file{inside: "LICENSE", at: filepath.Join(root, "LICENSE")})
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return zip.Create(out, module.Version{Path: m.Path, Version: version}, files)
}

// file is a file for a zip.
type file struct{ inside, at string }

func (f file) Path() string                 { return path.Clean(f.inside) }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.at) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.at) }

func git(root string, args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", root}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
