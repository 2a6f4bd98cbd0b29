//go:build unix

package engineurl_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// A file that others could write or replace is refused, and the error says how to fix it. Secrets
// as containers mount them are accepted, and so are open files.
func TestSecretsThatOthersCouldWrite(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	for name, c := range map[string]struct {
		prepare func(path string) error
		says    string
		root    bool // only root can change owners
	}{
		"own":             {func(path string) error { return nil }, "", false},
		"for all to read": {func(path string) error { return os.Chmod(path, 0o444) }, "", false},
		"for all": {func(path string) error { return os.Chmod(path, 0o666) },
			"every user of the machine may write the file", false},
		"for a group": {func(path string) error {
			return errors.Join(os.Chown(path, -1, 4711), os.Chmod(path, 0o660))
		}, "the group 4711 may write the file", true},
		"of a stranger": {func(path string) error { return os.Chown(path, nobody, 0) },
			"belongs to the user 65534", true},
		"in a sticky folder": {func(path string) error { return os.Chmod(filepath.Dir(path), os.ModeSticky|0o777) }, "",
			false},
		"of a stranger in a sticky folder": {func(path string) error {
			return errors.Join(os.Chown(path, nobody, 0), os.Chmod(filepath.Dir(path), os.ModeSticky|0o777))
		}, "belongs to the user 65534", true},
		"in a folder for all": {func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) },
			"every user of the machine may write the folder", false},
		"pipe of a stranger": {func(path string) error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600), os.Chown(path, nobody, 0))
		}, "belongs to the user 65534", true},
		"as Kubernetes has it": {func(path string) error { // links in a folder that everybody can write, owned by root
			folder := filepath.Dir(path)
			return errors.Join(os.Mkdir(folder+"/..1", 0o755), os.Chmod(path, 0o444), os.Rename(path, folder+"/..1/p"),
				os.Symlink("..1", folder+"/..data"), os.Symlink("..data/p", path),
				os.Chmod(folder, os.ModeSticky|0o777))
		}, "", false},
		"link of a stranger": {func(path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path), os.Lchown(path, nobody, 0))
		}, "symbolic link", true},
		"gone": {os.Remove, "does not exist", false},
	} {
		if c.root && os.Getuid() != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "p")
			if err := errors.Join(os.WriteFile(path, []byte("geheim\n"), 0o600), c.prepare(path)); err != nil {
				t.Fatal(err)
			}
			got, err := engineurl.SecretFile(path)
			if (err == nil) != (c.says == "") || err == nil && got != "geheim" ||
				err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v, want %q", got, err, c.says)
			}
			if c.says == "" || name == "gone" || name == "pipe of a stranger" {
				return
			}
			if !strings.Contains(err.Error(), "/dev/fd/") {
				t.Errorf("it does not say how to hand it over all the same: %v", err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if got, err := engineurl.SecretFile(fmt.Sprintf("/dev/fd/%d", file.Fd())); got != "geheim" {
				t.Errorf("open: %q, %v", got, err)
			}
		})
	}
}

// Nobody can write a file on a read-only file system, which is how Docker Compose mounts files of a
// user of the host.
func TestSecretsOnAReadOnlyMount(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("SECRET_ON_A_READ_ONLY_MOUNT"); path != "" {
		if got, err := engineurl.SecretFile(path); got != "geheim" {
			t.Errorf("%q, %v", got, err)
		}
		return
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 {
		t.Skip("there is no unshare(1), or no right, to mount with")
	}
	path := filepath.Join(t.TempDir(), "p")
	if err := errors.Join(os.WriteFile(path, []byte("geheim\n"), 0o644), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(unshare, "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("no right to mount: %v: %s", err, out)
	}
	script := `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ` +
		`exec "$0" -test.run '^TestSecretsOnAReadOnlyMount$'`
	c := exec.Command(unshare, "-m", "sh", "-c", script, os.Args[0], path)
	c.Env = append(os.Environ(), "SECRET_ON_A_READ_ONLY_MOUNT="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Whoever can write a file with the authorities to trust can pass for the server.
func TestCertificatesThatOthersCouldWrite(t *testing.T) {
	t.Parallel()
	config := map[string]func(path string) engineurl.TLS{
		"ca":   func(path string) engineurl.TLS { return engineurl.TLS{On: true, CA: path} },
		"cert": func(path string) engineurl.TLS { return engineurl.TLS{On: true, Cert: path, Key: "/nosuch"} },
		"key":  func(path string) engineurl.TLS { return engineurl.TLS{On: true, Cert: "/nosuch", Key: path} },
	}
	const refused = "every user of the machine may write the file"
	path := filepath.Join(t.TempDir(), "p")
	for _, mode := range []os.FileMode{0o644, 0o666} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for parameter, with := range config {
			_, err := with(path).Config("test") // an empty file is no certificate
			if err == nil || strings.Contains(err.Error(), "parameter "+parameter+": "+refused) != (mode == 0o666) {
				t.Errorf("%s, mode %o: %v", parameter, mode, err)
			}
			_, err = with(fmt.Sprintf("/dev/fd/%d", file.Fd())).Config("test")
			if err == nil || strings.Contains(err.Error(), refused) {
				t.Errorf("%s, open: %v", parameter, err)
			}
		}
	}
}
