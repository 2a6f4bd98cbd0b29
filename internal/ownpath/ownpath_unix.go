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

// maxLinks is how many symbolic links a path may lead through, the same as in the Linux kernel.
const maxLinks = 40

// Check returns a [*Fault] if somebody else could change or replace the file at an absolute path. The file, its folder,
// all folders above and the links on the way must belong to this user or to root, and nobody else may write them.
// Exceptions: all may write a folder above if it is sticky, and a private group may write. With group, the members of
// groups may write the file and its folders, and own them if this user is a member.
//
// Check follows the path as the kernel does, since each link may lead elsewhere. What it has accepted remains so,
// except for what this user and root do. The file need not exist, and if it is not a regular file, only its path is
// checked. If there is no folder, the error is an [fs.ErrNotExist].
func Check(path string, group bool) error { return check{groupMayWrite: group}.walk(path) }

// CheckOwnedBy is Check for a file that counts for all users: it, its folder, all folders above and the links on the
// way must belong to root or to the user of that number, and no group may write them.
func CheckOwnedBy(path string, uid int) error {
	return check{owner: uint32(uid), forAll: true}.walk(path)
}

// CheckToRead is Check for a file that is only read, such as a password file, and beside which no files are created.
// Its folder may be open to all if it is sticky, named pipes are checked as well, and on a read-only file system the
// file may belong to anybody. If there is no file, the error is an [fs.ErrNotExist].
func CheckToRead(path string) error { return check{readOnly: true}.walk(path) }

func (c check) walk(path string) error {
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
			// Others could create more files beside it, such as the log of a database.
			err := c.checkWriters(at, folder, "folder", c.readOnly && folder.Mode()&fs.ModeSticky != 0)
			switch {
			case err != nil:
				return err
			case missing && c.readOnly: // or somebody could create it now
				return fmt.Errorf("%s: %w", next, fs.ErrNotExist)
			case missing, !info.Mode().IsRegular() && !(c.readOnly && info.Mode()&fs.ModeNamedPipe != 0):
				return nil
			}
			err = c.checkFile(next, info, folder)
			if c.readOnly && err != nil && cannotBeWritten(next) {
				return nil
			}
			return err
		}
		if err := c.checkWriters(at, folder, "folder", folder.Mode()&fs.ModeSticky != 0); err != nil {
			return err
		}
		switch {
		case missing:
			return fmt.Errorf("%s: %w", next, fs.ErrNotExist)
		case isLink:
			if links++; links > maxLinks {
				return errors.New("it leads through too many symbolic links")
			}
			if alone := (check{owner: c.owner, forAll: c.forAll}); !alone.trusts(info) {
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

type check struct {
	groupMayWrite bool // members of groups count as this user
	readOnly      bool // the file is only read
	forAll        bool // the file counts for all users, and owner stands for this user
	owner         uint32
}

// checkFile returns a fault if others may write the file.
func (c check) checkFile(path string, info, folder fs.FileInfo) error {
	if c.groupMayWrite && ids(info).Gid == ids(folder).Gid {
		return refuseWorldWritable(path, info, "file") // whichever member created it
	}
	return c.checkWriters(path, info, "file", false)
}

// checkWriters returns a fault if others may write the path. sticky is set for a folder in which they cannot touch
// files of others.
func (c check) checkWriters(path string, info fs.FileInfo, what string, sticky bool) error {
	switch {
	case !c.trusts(info):
		return &Fault{What: what, Path: path, Who: owner(info), Owns: true, ByGroup: !c.groupMayWrite}
	case sticky:
		return nil
	case info.Mode()&0o020 != 0 && !c.groupMayWrite && (c.forAll || !privateGroup(info)):
		group := fmt.Sprintf("the group %d", ids(info).Gid)
		return &Fault{What: what, Path: path, Who: group, Mode: info.Mode().Perm(), ByGroup: true}
	}
	return refuseWorldWritable(path, info, what)
}

// refuseWorldWritable returns a fault if every user may write the path.
func refuseWorldWritable(path string, info fs.FileInfo, what string) error {
	if info.Mode()&0o002 != 0 {
		return &Fault{What: what, Path: path, Who: "every user of the machine", Mode: info.Mode().Perm()}
	}
	return nil
}

// trusts reports whether the owner may do anything: it is this user, or root, or, with a group, the owner of what
// belongs to a group of this user.
func (c check) trusts(info fs.FileInfo) bool {
	uid := ids(info).Uid
	if c.forAll {
		return uid == 0 || uid == c.owner
	}
	return uid == 0 || uid == uint32(os.Geteuid()) || c.groupMayWrite && isMember(ids(info).Gid)
}

// isMember reports whether this user is in a group.
func isMember(group uint32) bool {
	all, err := os.Getgroups()
	return group == uint32(os.Getegid()) || err == nil && slices.Contains(all, int(group))
}

// privateGroup reports whether a group has, by convention, its owner as its only member: then its number is that of the
// user.
func privateGroup(info fs.FileInfo) bool { return ids(info).Gid == ids(info).Uid }

func owner(info fs.FileInfo) string { return fmt.Sprintf("the user %d", ids(info).Uid) }

func ids(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }
