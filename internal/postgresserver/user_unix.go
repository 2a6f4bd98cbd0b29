//go:build unix

package postgresserver

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// quit ends a server at once, and lets it remove the memory that it shares with its children.
const quit = syscall.SIGQUIT

// unprivileged gives a folder to the user that the server runs as, and returns a function that makes the attributes of
// a process of that user.
func unprivileged(dir string) (func() *syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
		return func() *syscall.SysProcAttr {
			p := attributes()
			p.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			return p
		}, nil
	}
	return nil, errors.New(
		"postgresserver: PostgreSQL does not run as root, and there is neither a user postgres nor nobody: run the " +
			"tests as another user",
	)
}
