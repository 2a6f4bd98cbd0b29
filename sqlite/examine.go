package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements [driver.Examiner]. The one place is the file. Its round trip is the time of a small reading.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	p := driver.Place{Name: e.path, Votes: true, Uptime: -1, RoundTrip: -1}
	s := state{looks: e.readOnly, moved: e.checkFile() != nil, wallClock: e.clock.survivesRestart(), free: -1}
	if info, err := os.Stat(e.path); err == nil {
		s.mode = info.Mode().Perm()
		s.open = readByAll(e.path, s.mode)
	}
	s.writers = Alone.check(e.path)
	if e.sharing == Group && Group.check(e.path) == nil {
		s.writers = nil // which is what was asked for
	}
	if info, err := os.Stat(e.path + "-wal"); err == nil {
		s.log = info.Size()
	}
	s.free, s.folder = lookAround(filepath.Dir(e.path))
	for range 3 {
		began := time.Now()
		if err := e.read(ctx, func(v *view) error { return v.row([]any{&s.journal}, "PRAGMA journal_mode") }); err != nil {
			return driver.Examination{}, err
		}
		err := e.read(ctx, func(v *view) error { return v.row([]any{&s.last}, "SELECT last FROM meta") })
		if s.emptied = errors.Is(err, sql.ErrNoRows); err != nil && !s.emptied {
			return driver.Examination{}, err
		}
		if took := time.Since(began); p.RoundTrip < 0 || took < p.RoundTrip {
			p.RoundTrip = took
		}
	}
	return driver.Examination{Places: []driver.Place{p}, Findings: s.judge(e.path)}, nil
}

// state is what was seen of a file and what is around it.
type state struct {
	looks     bool // this user may not write it
	moved     bool // the path leads to another file by now
	journal   string
	mode      fs.FileMode
	open      bool  // every user of the machine may read it
	folder    error // why nothing can be made in the folder
	writers   error // who else may write or replace it
	emptied   bool  // nobody knows which tokens were given
	last      int64 // the last token
	free      int64 // bytes on the disk for this user; negative if not known
	log       int64 // bytes
	wallClock bool
}

const (
	// scarce is how much must be free on the disk: twice of what the log grows to.
	scarce = 64 << 20
	// none is when nothing can be written any more, about.
	none = 1 << 20
	// endlessLog is a size that the log has only if it cannot be moved into the file.
	endlessLog = 128 << 20
)

// judge finds what endangers promises.
func (s state) judge(path string) (all []driver.Finding) {
	add := func(severity driver.Severity, code, text, mend string) {
		all = append(all, driver.Finding{Severity: severity, Code: code, Place: path, Text: text, Mend: mend})
	}
	if s.moved {
		add(driver.Critical, "file-replaced",
			"the file has been removed or replaced while in use: what is held in the old one excludes nobody who uses the new one",
			"stop all programs that use the path, and start them again")
	}
	if s.looks {
		add(driver.Note, "rights-look", "the user may look, and may not lock. If it is meant for that, all is well",
			"nothing, or the right to write the file and its folder")
	}
	if s.journal != "wal" && !s.looks { // one who may not write is not told it while nobody uses the file
		add(driver.Critical, "journal-mode",
			fmt.Sprintf("the journal mode is %q and not wal: something else has changed the file, and readers "+
				"and writers wait for each other", s.journal),
			"stop all programs that use the file, and start them again")
	}
	if s.emptied || s.last < 0 {
		why := errMeta
		if !s.emptied {
			why = errLast
		}
		text, mend, _ := strings.Cut(why.Error(), ": ")
		add(driver.Critical, "tokens-damaged", text+"; nothing can be locked", mend)
	}
	if s.folder != nil && !s.looks {
		add(driver.Warning, "folder-not-writable",
			fmt.Sprintf("nothing can be made in its folder (%s): locks work while another program has the file open, and not after", s.folder),
			"give this user the right to write the folder")
	}
	if s.open {
		add(driver.Warning, "file-readable",
			fmt.Sprintf("every user of the machine may read the file (mode %o): he sees who holds what, and the owners' secrets, and can keep all from it by a lock of his own on it", s.mode),
			"chmod o= the file, and give it to a group if several users share it")
	}
	if s.writers != nil {
		add(driver.Warning, "file-writable",
			"others can free what is locked, lock what they like, or put another file in its place: "+s.writers.Error(),
			"give the file and its folder to one user, or to a group (share=group), and take the rights of others away")
	}
	switch {
	case s.free >= 0 && s.free < none:
		add(driver.Critical, "disk-full", "the disk is full: no lock can be had or renewed", "make room")
	case s.free >= 0 && s.free < scarce:
		add(driver.Warning, "disk-nearly-full",
			fmt.Sprintf("%d MB are left on the disk: when it is full, no lock can be had or renewed", s.free>>20),
			"make room")
	case s.free < 0:
		add(driver.Note, "disk-not-looked-at", "how much room is left on the disk was not looked at, as it cannot be told here", "nothing")
	}
	if s.log > endlessLog {
		add(driver.Warning, "log-grows",
			fmt.Sprintf("its log has %d MB: something that reads the file keeps it from being moved into the file", s.log>>20),
			"find what has the file open beside the programs that lock, as a backup or a shell of SQLite")
	}
	if s.wallClock {
		add(driver.Note, "wall-clock",
			"leases end by the clock of the machine, as there is no other that all processes share here: if it is set forward, they end early",
			"let NTP set the clock, slowly")
	}
	return all
}
