package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// Open opens the file at path, and creates it (mode 0600) if there is none. Its folder must exist and be writable,
// since SQLite keeps two more files beside it (-wal and -shm) while it is in use.
//
// Every error is marked with [driver.Permanent] and says what to do. The reasons are: the folder is missing; path is
// not a regular file, may not be read or written, is on a network file system, is damaged, belongs to another
// application, or was created by a newer version of this package; or others than this user and root could write or
// replace it, see [WithSharing]. A file that is refused is not changed.
//
// A file that this user may read and not write is opened as well: it can be listed and examined, and everything that
// would change it fails permanently.
//
// [Engine.Close] must be called in the end.
func Open(path string, opts ...Option) (*Engine, error) {
	c, err := machineClock()
	if err != nil {
		return nil, driver.Permanent(fmt.Errorf("sqlite: %w", err))
	}
	return open(path, c, opts...)
}

func open(path string, c clock, opts ...Option) (*Engine, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	e, err := newEngine(path, c, o.sharing)
	if err != nil {
		return nil, driver.Permanent(fmt.Errorf("sqlite: %s: %w", path, err))
	}
	if err := e.initFile(); err != nil {
		_ = e.Close() // the reason why it could not be opened is what matters
		return nil, driver.Permanent(e.noEffectError(err))
	}
	return e, nil
}

// newEngine returns an engine that has not connected yet.
func newEngine(path string, c clock, s Sharing) (*Engine, error) {
	absolute, err := ensurePlainFile(path, s)
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(absolute)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", address(absolute, "rw"))
	if err != nil {
		return nil, err
	}
	// Connections are kept by their users, not by the pool.
	db.SetMaxIdleConns(-1)
	life, kill := context.WithCancel(context.Background())
	e := &Engine{
		workers:   detach.Pool{Grace: leaveAfter},
		path:      absolute,
		sharing:   s,
		readOnly:  isReadOnly(absolute),
		file:      file,
		clock:     c,
		busyLimit: busyLimit,
		db:        db,
		writer:    make(chan struct{}, 1),
		fast:      &conn{db: db, flush: flushSometimes},
		durable:   &conn{db: db, flush: flushAlways},
		readers:   make(chan *conn, readers),
		ctx:       life,
		cancel:    kill,
	}
	if c.survivesRestart() {
		// After a crash of the machine it would not be noticed that tokens may be lost.
		e.fast.flush = flushAlways
	}
	for range readers {
		e.readers <- &conn{db: db, flush: flushSometimes}
	}
	e.watcher.init(e)
	return e, nil
}

// address returns the URL of a file for the driver of database/sql. A folder or a name may contain any character, so it
// is escaped.
func address(path, mode string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode}
	return u.String()
}

// createMutex keeps a file from being closed here while another engine of this process already has locks on it: on Unix
// that would drop the locks.
var createMutex sync.Mutex

// ensurePlainFile creates the file if there is none, and returns its absolute path.
func ensurePlainFile(path string, s Sharing) (string, error) {
	if path == "" || path == ":memory:" {
		return "", errors.New("a path is needed: locks in memory are what package memory is for")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	createMutex.Lock()
	defer createMutex.Unlock()
	if err := s.check(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := create(path, s); err != nil {
			return "", err
		}
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a folder: name a file in it")
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("it is not a plain file (%s): choose another path", info.Mode())
	}
	return path, checkFileSystem(path)
}

func create(path string, s Sharing) error {
	mode, forced := s.mode()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, os.FileMode(mode))
	switch {
	case errors.Is(err, os.ErrExist):
		return nil // another process was faster
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("make its folder first: %w", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("give this user the right to write its folder: %w", err)
	case err != nil:
		return err
	}
	if forced {
		err = f.Chmod(os.FileMode(mode))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return flushFolder(filepath.Dir(path))
}

// initFile makes sure that the file is one of this package and of this boot. It creates the tables if the file is
// empty.
func (e *Engine) initFile() error {
	ctx := context.Background()
	if e.readOnly {
		return e.checkReadOnly()
	}
	if err := e.inspect(ctx); err != nil {
		return err
	}
	if err := e.enableWAL(ctx); err != nil {
		return err
	}
	var h header
	err := e.read(ctx, func(v *view) (err error) {
		if h, err = readHeader(v.conn); err == nil && h.isOurs() {
			err = v.row([]any{&h.boot, &h.hasAllTables},
				"SELECT boot, (SELECT count(*) FROM sqlite_schema WHERE name IN ('removals', 'data')) = 2 FROM meta")
			if errors.Is(err, sql.ErrNoRows) {
				err = errMeta
			}
		}
		return err
	})
	if err != nil || h.isOurs() && h.boot == e.clock.boot && h.hasAllTables {
		return err
	}
	return e.change(ctx, e.durable, e.initTables)
}

// inspect checks the file in a way that cannot change it.
func (e *Engine) inspect(ctx context.Context) error {
	db, err := sql.Open("sqlite", address(e.path, "ro"))
	if err != nil {
		return err
	}
	c := &conn{db: db, flush: flushSometimes}
	var retry busyRetry
	for {
		var h header
		h, err = readHeaderOnce(c)
		if err == nil {
			err = h.check()
		}
		if !isBusy(err) {
			break
		}
		if err = retry.wait(ctx, e.busyLimit); err != nil {
			break
		}
	}
	return errors.Join(err, c.close(), db.Close())
}

// enableWAL switches to write-ahead logging, in which readers and a writer do not wait for each other. The mode is
// stored in the file.
func (e *Engine) enableWAL(ctx context.Context) error {
	if err := e.lockWriter(ctx); err != nil {
		return err
	}
	defer e.unlockWriter()
	var retry busyRetry
	for {
		var mode string
		err := e.durable.row([]any{&mode}, "PRAGMA journal_mode = WAL")
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("write-ahead logging does not work here (%q): choose a path on a local disk", mode)
		case !isBusy(err):
			return err
		}
		if err := retry.wait(ctx, e.busyLimit); err != nil {
			return err
		}
	}
}
