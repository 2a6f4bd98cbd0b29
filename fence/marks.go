package fence

import (
	"context"
	"database/sql"
	"sync"
)

// Marks keep the largest token seen for each name: a [*Memory], a [DBMarks], the Marks of package redisfence, or your own. They must be safe for concurrent use.
type Marks interface {
	// Raise raises the mark of a name to the token, in one atomic step, and returns an ErrStale if it is larger already. A mark that is not there counts as 0. Other errors
	// mean that it may have been raised or not. Trying again with the same token does no harm.
	Raise(ctx context.Context, name string, token uint64) error
}

// Memory keeps marks in this process: for tests, and for resources that live no longer than the process. The zero value is ready. It is safe for concurrent use. A name
// takes some 100 bytes beside its own, for good: forgetting it would let old tokens in. So let only those raise marks who may.
type Memory struct {
	mu    sync.Mutex
	marks map[string]uint64
}

// Raise implements [Marks]. It returns nothing but an [ErrStale] or an [ErrInvalid].
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

// DBMarks keep marks in a table of a database, for a [Gate]. What writes to that database itself is better off with [Do].
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
	if err := m.valid(token); err != nil {
		return err
	}
	return m.raiseBy(ctx, d.DB, token)
}
