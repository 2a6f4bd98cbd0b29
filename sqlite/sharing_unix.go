//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mostLinks is how many symbolic links a path may lead through, as the kernel has it.
const mostLinks = 40

// check refuses a path on which somebody else could change or replace the file. It goes the way that the kernel goes, since each link may lead elsewhere. What it has
// accepted stays so, but for what this user and root do. There need not be a file yet.
func (s Sharing) check(path string) error {
	if s == Everybody {
		return nil
	}
	rest := strings.Split(strings.Trim(path, "/"), "/")
	at, links := "/", 0
	for {
		folder, err := os.Lstat(at)
		if err != nil {
			return err
		}
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return err
		}
		isLink := !missing && info.Mode()&fs.ModeSymlink != 0
		if last := len(rest) == 1 && !isLink; last {
			// Beside the file SQLite uses two more that it would not make if they were there.
			if err := s.writers(at, folder, "folder", false); err != nil || missing || !info.Mode().IsRegular() {
				return err // what is no file is refused later
			}
			if s == Group && ids(info).Gid == ids(folder).Gid {
				return everybody(next, info, "file") // whoever of them has made it
			}
			return s.writers(next, info, "file", false)
		}
		if err := s.writers(at, folder, "folder", folder.Mode()&fs.ModeSticky != 0); err != nil {
			return err
		}
		switch {
		case missing:
			return nil // which is told by whoever makes the file
		case isLink:
			if links++; links > mostLinks {
				return errors.New("it leads through too many symbolic links")
			}
			if !Alone.trusts(info) {
				return fmt.Errorf("the symbolic link %s belongs to %s, who can lead it elsewhere: name the file itself", next, owner(info))
			}
			target, err := os.Readlink(next)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest[1:]...)
		default:
			at, rest = next, rest[1:]
		}
	}
}

// writers refuses what others may write. sticky is set of a folder in which they cannot touch what is not theirs.
func (s Sharing) writers(path string, info fs.FileInfo, what string, sticky bool) error {
	const orShare = "or share it on purpose (share=group in the URL, or sqlite.WithSharing)"
	mode := info.Mode().Perm()
	switch {
	case !s.trusts(info):
		return fmt.Errorf("the %s %s belongs to %s, who could free what is locked there: use one of your own, %s", what, path, owner(info), orShare)
	case sticky:
		return nil
	case mode&0o020 != 0 && s != Group && !privateGroup(info):
		return fmt.Errorf("the group %d may write the %s %s (mode %o), and so free what is locked there: chmod g-w, %s", ids(info).Gid, what, path, mode, orShare)
	}
	return everybody(path, info, what)
}

// everybody refuses what every user may write.
func everybody(path string, info fs.FileInfo, what string) error {
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("every user of the machine may write the %s %s (mode %o), and so free what is locked there: chmod o-w, or choose another path; share=all takes it as it is", what, path, mode)
	}
	return nil
}

// trusts reports whether the owner may do what he likes: it is this user, or root; or, with Group, the owner of what belongs to a group of this user.
func (s Sharing) trusts(info fs.FileInfo) bool {
	uid := ids(info).Uid
	return uid == 0 || uid == uint32(os.Geteuid()) || s == Group && isMember(ids(info).Gid)
}

// isMember reports whether this user is in a group.
func isMember(group uint32) bool {
	all, err := os.Getgroups()
	return group == uint32(os.Getegid()) || err == nil && slices.Contains(all, int(group))
}

// privateGroup reports whether a group has, by custom, its owner as its only member: then its number is his.
func privateGroup(info fs.FileInfo) bool { return ids(info).Gid == ids(info).Uid }

func owner(info fs.FileInfo) string { return fmt.Sprintf("the user %d", ids(info).Uid) }

func ids(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }
