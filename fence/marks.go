package fence

import (
	"context"
	"database/sql"
	"sync"
)

// Marks keep the largest token seen for each name: a [*Memory], a [DBMarks], the Marks of package redisfence, or your
// own. They must be safe for concurrent use.
type Marks interface {
	// Raise raises the mark of a name to the token, in one atomic step. It returns an ErrStale if the mark is already
	// larger. A missing mark counts as 0. After other errors the mark may have been raised or not. It is safe to try
	// again with the same token.
	Raise(ctx context.Context, name string, token uint64) error
}

// Memory keeps marks in this process: for tests, and for resources that live no longer than the process. The zero value
// is ready to use. It is safe for concurrent use. A name takes about 100 bytes besides its own length, and is never
// forgotten, because that would let old tokens in. So only let trusted callers raise marks.
type Memory struct {
	mu    sync.Mutex
	marks map[string]uint64
}

// Raise implements [Marks]. It returns nil, an [ErrStale] or an [ErrInvalid].
func (m *Memory) Raise(_ context.Context, name string, token uint64) error {
	if err := Valid(name, token); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := m.marks[name]; have > token {
		return &StaleError{Name: name, Have: have, Want: token}
	}
	if m.marks == nil {
		m.marks = map[string]uint64{}
	}
	m.marks[name] = token
	return nil
}

// DBMarks keep marks in a table of a database, for a [Gate]. For writes to that same database use [Do] instead.
type DBMarks struct {
	DB    *sql.DB
	Table Table
}

// Raise implements [Marks]. It is one statement, without a transaction around it.
func (d DBMarks) Raise(ctx context.Context, name string, token uint64) error {
	if d.DB == nil {
		return missing("database", "a *sql.DB")
	}
	m := d.Table.Mark(name)
	if err := m.Valid(token); err != nil {
		return err
	}
	return m.raiseBy(ctx, overSQL{d.DB}, token)
}
