package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/leasehold-go/leasehold/lab/release/publish"
)

// commit makes the commit of a release on the branch release-VERSION, from the commit that is checked out, and says
// what is left to do. The working tree stays as it is.
func commit(version string) (err error) {
	temporary, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	tree := filepath.Join(temporary, "tree")
	branch := "release-" + version
	if err := call("", nil, "git", "worktree", "add", "--quiet", "-b", branch, tree, "HEAD"); err != nil {
		return err
	}
	defer func() {
		_ = call("", nil, "git", "worktree", "remove", "--force", tree)
		if err != nil {
			_ = call("", nil, "git", "branch", "--quiet", "-D", branch)
		}
	}()
	modules, err := publish.Prepare(tree, filepath.Join(temporary, "proxy"), version)
	if err != nil {
		return err
	}
	if err := call(tree, nil, "git", "commit", "--quiet", "-a", "-m", subject(version)); err != nil {
		return err
	}
	fmt.Printf("The branch %s has the commit of the release. Look at it, and then tag it:\n\n", branch)
	for _, m := range modules {
		if m.Public() {
			fmt.Printf("  git tag -s -m %s %s %s\n", version, m.Tag(version), branch)
		}
	}
	fmt.Println("\nPush all tags with one git push --atomic: docs/releasing.md says what comes before and after.")
	return nil
}

func subject(version string) string {
	return "release " + version + ": modules require each other at this version"
}
