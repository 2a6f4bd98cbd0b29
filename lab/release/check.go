package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leasehold-go/leasehold/lab/release/publish"
)

// check publishes the working tree at a version into a temporary folder, and uses it as a user does who has nothing
// yet: no module cache, no checkout.
func check(version string) (err error) {
	temporary, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() {
		// The go command makes its module cache read-only.
		_ = call("", nil, "chmod", "-R", "u+w", temporary)
		_ = os.RemoveAll(temporary)
	}()
	repository, proxy := filepath.Join(temporary, "repository"), filepath.Join(temporary, "proxy")
	if err := copyTree(repository); err != nil {
		return err
	}
	modules, err := publish.Prepare(repository, proxy, version)
	if err != nil {
		return err
	}
	if err := call(repository, committer, "git", "commit", "--quiet", "-a", "-m", subject(version)); err != nil {
		return err
	}
	public := modules[:0]
	for _, m := range modules {
		if m.Public() {
			public = append(public, m)
			if err := call(repository, committer, "git", "tag", m.Tag(version)); err != nil {
				return err
			}
		}
	}
	u, err := newUser(temporary, proxy, version)
	if err != nil {
		return err
	}
	if err := compareWithGit(u, public, repository, proxy); err != nil {
		return err
	}
	if err := checkTidy(u, public, repository); err != nil {
		return err
	}
	if err := u.installCommand(); err != nil {
		return err
	}
	for _, m := range public {
		if err := u.useModule(m); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	fmt.Printf("%d modules work at %s as users get them\n", len(public), version)
	return nil
}

// committer is the environment of git in the temporary repository: whoever runs this may have no name.
var committer = []string{
	"GIT_AUTHOR_NAME=release", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=release", "GIT_COMMITTER_EMAIL=",
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
}

// copyTree makes a new repository of the files that git knows here, with the changes that are not committed yet.
func copyTree(to string) error {
	listed, err := output("", nil, "git", "-c", "safe.directory=*", "ls-files", "-z")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed, and that is not committed
		}
		if err != nil {
			return err
		}
		copied := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(copied, text, 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "-m", "all"}} {
		if err := call(to, committer, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// compareWithGit checks that the go command makes the same modules from the tags as are in the proxy: otherwise the
// hashes in the published go.sum files are wrong.
func compareWithGit(u *user, public []publish.Module, repository, proxy string) error {
	env := append(u.env("direct", filepath.Join(u.dir, "direct")),
		"GOPROXY=direct", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://"+repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+publish.Home)
	type download struct{ Path, Sum, GoModSum, Error string }
	ask := func(env []string, m publish.Module) (d download, err error) {
		out, err := output(u.dir, env, "go", "mod", "download", "-json", m.Path+"@"+u.version)
		if jsonErr := json.Unmarshal([]byte(out), &d); jsonErr == nil && d.Error != "" {
			return d, fmt.Errorf("%s: %s", m.Path, d.Error)
		}
		return d, err
	}
	for _, m := range public {
		fromGit, err := ask(env, m)
		if err != nil {
			return err
		}
		fromProxy, err := ask(u.env("modules", proxy), m)
		if err != nil {
			return err
		}
		if fromGit != fromProxy {
			return fmt.Errorf("%s: git has %+v, and the proxy %+v", m.Path, fromGit, fromProxy)
		}
	}
	return nil
}

// checkTidy checks that nothing is missing in the go.mod and go.sum files that were published, and nothing too much.
func checkTidy(u *user, public []publish.Module, repository string) error {
	for _, m := range public {
		if err := call(filepath.Join(repository, m.Dir), u.environment, "go", "mod", "tidy", "-diff"); err != nil {
			return fmt.Errorf("%s as it is published: %w", m.Path, err)
		}
	}
	return nil
}
