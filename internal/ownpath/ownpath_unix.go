//go:build unix

package ownpath

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

// Check returns a [*Fault] if somebody else could change the file at an absolute path, or replace it: the file, its folder, all folders above and the links on the way
// must belong to this user or to root, and nobody else may write them. A folder above may be open to all if it is sticky, and a private group may write. With group,
// the members of groups may write the file and its folders, and own them if this user is one of them.
//
// It goes the way that the kernel goes, since each link may lead elsewhere. What it has accepted stays so, but for what this user and root do. There need not be a
// file; if there is no folder, the error is an [fs.ErrNotExist]. What is no regular file is not looked at.
func Check(path string, group bool) error {
	c := check{group}
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
			// Others could make more files beside it, such as the log of a database.
			if err := c.writers(at, folder, "folder", false); err != nil || missing || !info.Mode().IsRegular() {
				return err
			}
			if group && ids(info).Gid == ids(folder).Gid {
				return everybody(next, info, "file") // whoever of them has made it
			}
			return c.writers(next, info, "file", false)
		}
		if err := c.writers(at, folder, "folder", folder.Mode()&fs.ModeSticky != 0); err != nil {
			return err
		}
		switch {
		case missing:
			return fmt.Errorf("%s: %w", next, fs.ErrNotExist)
		case isLink:
			if links++; links > mostLinks {
				return errors.New("it leads through too many symbolic links")
			}
			if alone := (check{}); !alone.trusts(info) {
				return &Fault{What: "symbolic link", Path: next, Who: owner(info), Owns: true}
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

type check struct{ group bool }

// writers refuses what others may write. sticky is set of a folder in which they cannot touch what is not theirs.
func (c check) writers(path string, info fs.FileInfo, what string, sticky bool) error {
	switch {
	case !c.trusts(info):
		return &Fault{What: what, Path: path, Who: owner(info), Owns: true, ByGroup: !c.group}
	case sticky:
		return nil
	case info.Mode()&0o020 != 0 && !c.group && !privateGroup(info):
		return &Fault{What: what, Path: path, Who: fmt.Sprintf("the group %d", ids(info).Gid), Mode: info.Mode().Perm(), ByGroup: true}
	}
	return everybody(path, info, what)
}

// everybody refuses what every user may write.
func everybody(path string, info fs.FileInfo, what string) error {
	if info.Mode()&0o002 != 0 {
		return &Fault{What: what, Path: path, Who: "every user of the machine", Mode: info.Mode().Perm()}
	}
	return nil
}

// trusts reports whether the owner may do what he likes: it is this user, or root; or, with a group, the owner of what belongs to a group of this user.
func (c check) trusts(info fs.FileInfo) bool {
	uid := ids(info).Uid
	return uid == 0 || uid == uint32(os.Geteuid()) || c.group && isMember(ids(info).Gid)
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
