// Package ownpath finds out whether others than the user of this process and root could change or replace a file.
package ownpath

import (
	"fmt"
	"io/fs"
)

// Fault is the error that says who else could change or replace a file.
type Fault struct {
	// What is "file", "folder" or "symbolic link", and Path the path of it.
	What, Path string
	// Who is a text such as "the user 65534", "the group 100" or "every user of the machine".
	Who string
	// Owns is set if it belongs to Who. Otherwise Who may write it, by its Mode.
	Owns bool
	Mode fs.FileMode
	// ByGroup is set if Who is a group, or if the path would be accepted but for a group.
	ByGroup bool
}

// Error implements error.
func (f *Fault) Error() string {
	if f.Owns {
		return fmt.Sprintf("the %s %s belongs to %s", f.What, f.Path, f.Who)
	}
	return fmt.Sprintf("%s may write the %s %s (mode %o)", f.Who, f.What, f.Path, f.Mode)
}

// Fix says what to do about it.
func (f *Fault) Fix() string {
	switch {
	case f.Owns && f.What == "symbolic link":
		return "name the file itself"
	case f.Owns:
		return "chown it, or use one of your own"
	case f.ByGroup:
		return "chmod g-w"
	}
	return "chmod o-w, or use another folder"
}
