package needed_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// "make test" changes the system with sudo only after somebody has allowed it.
func TestPackagesAreInstalledWithSudoOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	need, err := filepath.Abs("../../scripts/need.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		id        string
		env       []string
		typed     string // on a terminal; empty if there is none
		installed string
		says      string
	}{
		"nobody to ask":       {"1000", nil, "", "", "LEASEHOLD_INSTALL=yes"},
		"no":                  {"1000", nil, "n\n", "", "not to be installed"},
		"nothing":             {"1000", nil, "\n", "", "not to be installed"},
		"yes":                 {"1000", nil, "y\n", "sudo", "install pkg with sudo"},
		"yes, by a variable":  {"1000", []string{"LEASEHOLD_INSTALL=yes"}, "", "sudo", "installing pkg"},
		"no, by a variable":   {"1000", []string{"LEASEHOLD_INSTALL=no", "CI=true"}, "", "", "LEASEHOLD_INSTALL=no"},
		"in CI":               {"1000", []string{"CI=true"}, "", "sudo", "installing pkg"},
		"root":                {"0", nil, "", "root", "installing pkg"},
		"root, but not to be": {"0", []string{"LEASEHOLD_INSTALL=no"}, "", "", "LEASEHOLD_INSTALL=no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := func(name, text string) error {
				return os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700)
			}
			folder := filepath.Join(dir, "folder") // a folder with the tool's name is not the tool
			err := errors.Join(
				os.MkdirAll(filepath.Join(folder, "tool"), 0o700),
				program("id", "echo "+c.id),
				program("sudo", `shift; [ "$1" = true ] || { echo sudo >"`+dir+`/by"; "$@"; }`),
				program("apt-get",
					`[ "$1" = update ] || { [ -e "`+dir+`/by" ] || echo root >"`+dir+`/by"; `+
						`echo '#!/bin/sh' >"`+dir+`/tool"; chmod +x "`+dir+`/tool"; }`),
			)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("bash", need, "tool", "pkg")
			if c.typed != "" {
				cmd = exec.Command("script", "-qec", "bash "+need+" tool pkg", "/dev/null")
				cmd.Stdin = strings.NewReader(c.typed)
			}
			cmd.Dir = folder
			cmd.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin", "SHELL=/bin/sh"}, c.env...)
			out, err := cmd.CombinedOutput()
			by, _ := os.ReadFile(filepath.Join(dir, "by")) // missing if nothing was done
			if got := strings.TrimSpace(string(by)); got != c.installed || (err == nil) != (c.installed != "") ||
				!strings.Contains(string(out), c.says) {
				t.Errorf("installed by %q, %v:\n%s", got, err, out)
			}
		})
	}
}
