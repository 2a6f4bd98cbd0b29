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
	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// Examine implements [driver.Operator]. The file counts as the only server. Its round trip is the time of a small read.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	return inTime(ctx, e, e.examine)
}

func (e *Engine) examine(ctx context.Context) (driver.Examination, error) {
	p := driver.Server{Name: e.path, Votes: true, Uptime: -1, RoundTrip: -1}
	r := fileReport{
		readOnly:  e.readOnly,
		replaced:  e.checkFile() != nil,
		wallClock: e.clock.survivesRestart(),
		freeBytes: -1,
	}
	if info, err := os.Stat(e.path); err == nil {
		r.mode = info.Mode().Perm()
		r.worldReadable = ownpath.ReadByAll(e.path)
	}
	r.writableBy = Alone.check(e.path)
	if e.sharing == Group && Group.check(e.path) == nil {
		r.writableBy = nil // sharing with the group is intended
		r.group = ownpath.Group(e.path)
	}
	if info, err := os.Stat(e.path + "-wal"); err == nil {
		r.logBytes = info.Size()
	}
	r.freeBytes, r.folderErr = statFolder(filepath.Dir(e.path))
	for range 3 {
		began := time.Now()
		err := e.read(ctx, func(v *view) error { return v.row([]any{&r.journalMode}, "PRAGMA journal_mode") })
		if err == nil {
			err = e.read(ctx, func(v *view) error { return v.row([]any{&r.lastToken}, "SELECT last FROM meta") })
		}
		// A user without the right to write cannot read anything from a file with an empty meta.
		r.metaEmpty = errors.Is(err, sql.ErrNoRows) || errors.Is(err, errMeta)
		if err != nil && !r.metaEmpty {
			return driver.Examination{}, err
		}
		if took := time.Since(began); p.RoundTrip < 0 || took < p.RoundTrip {
			p.RoundTrip = took
		}
	}
	return driver.Examination{Servers: []driver.Server{p}, Findings: r.judge(e.path)}, nil
}

// fileReport is what was found out about a file and its surroundings.
type fileReport struct {
	readOnly      bool // this user may not write the file
	replaced      bool // the path leads to another file now
	journalMode   string
	mode          fs.FileMode
	worldReadable bool   // every user of the machine may read the file
	folderErr     error  // why no file can be created in the folder
	writableBy    error  // who else may write or replace the file
	group         string // the group that the file is shared with; empty if it is not shared
	metaEmpty     bool   // the counter of tokens is lost
	lastToken     int64  // the last token issued
	freeBytes     int64  // bytes on the disk for this user; negative if not known
	logBytes      int64  // bytes
	wallClock     bool
}

const (
	// minFreeBytes is how much should be free on the disk: twice what the log grows to.
	minFreeBytes = 64 << 20
	// noFreeBytes is about where nothing can be written any more.
	noFreeBytes = 1 << 20
	// unboundedLogBytes is a size that the log has only if it cannot be checkpointed.
	unboundedLogBytes = 128 << 20
)

// judge finds what endangers the promises of the engine.
func (r fileReport) judge(path string) (all []driver.Finding) {
	add := func(severity driver.Severity, code, text, fix string) {
		all = append(all, driver.Finding{Severity: severity, Code: code, Server: path, Text: text, Fix: fix})
	}
	if r.replaced {
		add(driver.Critical, "file-replaced",
			"the file has been removed or replaced while in use: "+
				"what is held in the old one excludes nobody who uses the new one",
			"stop all programs that use the path, and start them again")
	}
	if r.readOnly {
		add(driver.Note, "rights-look",
			"the user can list locks, but cannot take any. That is fine if it is intended",
			"nothing, or the right to write the file and its folder")
	}
	// a user without the right to write cannot see the mode while nobody uses the file
	if r.journalMode != "wal" && !r.readOnly {
		add(driver.Critical, "journal-mode",
			fmt.Sprintf("the journal mode is %q and not wal: something else has changed the file, and readers "+
				"and writers wait for each other", r.journalMode),
			"stop all programs that use the file, and start them again")
	}
	if r.metaEmpty || r.lastToken < 0 {
		why := errMeta
		if !r.metaEmpty {
			why = errLast
		}
		text, fix, _ := strings.Cut(why.Error(), ": ")
		add(driver.Critical, "tokens-damaged", text+"; nothing can be locked", fix)
	}
	if r.folderErr != nil && !r.readOnly {
		add(driver.Warning, "folder-not-writable",
			fmt.Sprintf("no file can be created in its folder (%s): "+
				"locks work only while another program has the file open", r.folderErr),
			"give this user the right to write the folder")
	}
	if r.worldReadable {
		add(driver.Warning, "file-readable",
			fmt.Sprintf("every user of the machine may read the file (mode %o): they see who holds what, "+
				"and the owners' secrets, and can keep others from it by a lock of their own on it", r.mode),
			"chmod o= the file, and give it to a group if several users share it")
	}
	if r.writableBy != nil {
		add(driver.Warning, "file-writable",
			"others can free what is locked, lock what they like, or put another file in its place: "+
				r.writableBy.Error(),
			"give the file and its folder to one user, or to a group (share=group), and take the rights of others away")
	}
	if r.group != "" {
		add(driver.Note, "file-shared",
			"the file is shared (share=group): this user, root, and "+r.group+" may write it, or its folder. "+
				"Each of them can free what is locked, and delete files of the others, "+
				"as SQLite follows what it finds beside the file",
			"nothing, if all of them may do that; or leave share=group away, and take the rights of the group away")
	}
	switch {
	case r.freeBytes >= 0 && r.freeBytes < noFreeBytes:
		add(driver.Critical, "disk-full", "the disk is full: no lock can be granted or renewed", "free some space")
	case r.freeBytes >= 0 && r.freeBytes < minFreeBytes:
		add(driver.Warning, "disk-nearly-full",
			fmt.Sprintf("%d MB are left on the disk: when it is full, no lock can be granted or renewed",
				r.freeBytes>>20),
			"make room")
	case r.freeBytes < 0:
		add(driver.Note, "disk-not-looked-at",
			"how much space is left on the disk cannot be found out on this system", "nothing")
	}
	if r.logBytes > unboundedLogBytes {
		add(driver.Warning, "log-grows",
			fmt.Sprintf("its log has %d MB: something that reads the file keeps it from being moved into the file",
				r.logBytes>>20),
			"find what else has the file open, such as a backup or a shell of SQLite")
	}
	if r.wallClock {
		add(driver.Note, "wall-clock",
			"leases end by the clock of the machine, as there is no other that all processes share here: "+
				"if it is set forward, they end early",
			"let NTP set the clock, slowly")
	}
	return all
}
