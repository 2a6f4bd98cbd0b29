package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// Sharing says who else may use a file. The zero value is Alone.
type Sharing int

const (
	// Alone is for the user of this process, and root: nobody else can change the file, its folder or any folder above.
	Alone Sharing = iota
	// Group is for the members of the file's group as well: they may write the file and its folder. A new file has mode
	// 0660.
	Group
	// Everybody is for all who can write the file: nothing is checked. A new file has mode 0666.
	Everybody
)

// Option is a setting of [Open].
type Option func(*options)

type options struct{ sharing Sharing }

// WithSharing sets who else may use the file. A user that can write it can take away what others hold, and a user that
// can write its folder can replace it. Defaults to Alone: a file that others could write or replace is refused.
func WithSharing(s Sharing) Option {
	return func(o *options) { o.sharing = s }
}

// mode returns the mode of a new file, and whether the file gets it whatever the umask of the process is.
func (s Sharing) mode() (perm uint32, forced bool) {
	switch s {
	case Group:
		return 0o660, true
	case Everybody:
		return 0o666, true
	}
	return 0o600, false
}

// check refuses a path on which somebody else could change or replace the file, or has created a file beside it that
// SQLite reads along with it.
func (s Sharing) check(path string) error {
	if s == Everybody {
		return nil
	}
	err := ownpath.Check(path, s == Group)
	if err == nil {
		err = s.checkLogs(path)
	}
	fault, is := errors.AsType[*ownpath.Fault](err)
	switch {
	case !is:
		return err
	case fault.ByGroup:
		return fmt.Errorf("%w, who could free what is locked: %s, "+
			"or share it on purpose (share=group in the URL, or sqlite.WithSharing)", err, fault.Fix())
	}
	return fmt.Errorf("%w, who could free what is locked: %s; share=all takes it as it is", err, fault.Fix())
}

// checkLogs checks the files that SQLite keeps beside the real file. Their content counts as if it were in the file.
func (s Sharing) checkLogs(path string) error {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := ownpath.CheckBeside(path+suffix, s == Group); err != nil {
			return err
		}
	}
	return nil
}
