package sqlite

import (
	"errors"
	"fmt"

	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// Sharing says who else may use a file. The zero value is Alone.
type Sharing int

const (
	// Alone is for the user of this process, and root: the file, its folder and all folders above can be changed by nobody else.
	Alone Sharing = iota
	// Group is for the members of the file's group, too: they may write the file and its folder. A new file has mode 0660.
	Group
	// Everybody is for whoever can write the file: nothing is looked at. A new file has mode 0666.
	Everybody
)

// Option changes what [Open] does.
type Option func(*options)

type options struct{ sharing Sharing }

// WithSharing sets who else may use the file. Whoever can write it can take away what others hold, and whoever can write its folder can put another one in its
// place. Defaults to Alone: a file that others could write or replace is refused.
func WithSharing(s Sharing) Option {
	return func(o *options) { o.sharing = s }
}

// mode is that of a new file. A file with sharing gets it whatever the umask of the process says.
func (s Sharing) mode() (perm uint32, forced bool) {
	switch s {
	case Group:
		return 0o660, true
	case Everybody:
		return 0o666, true
	}
	return 0o600, false
}

// check refuses a path on which somebody else could change or replace the file.
func (s Sharing) check(path string) error {
	if s == Everybody {
		return nil
	}
	err := ownpath.Check(path, s == Group)
	fault, is := errors.AsType[*ownpath.Fault](err)
	switch {
	case !is:
		return err
	case fault.ByGroup:
		return fmt.Errorf("%w, who could free what is locked: %s, or share it on purpose (share=group in the URL, or sqlite.WithSharing)", err, fault.Mend())
	}
	return fmt.Errorf("%w, who could free what is locked: %s; share=all takes it as it is", err, fault.Mend())
}
