package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// sqlState is an error like those of PostgreSQL drivers.
type sqlState string

func (s sqlState) Error() string    { return "SQLSTATE " + string(s) }
func (s sqlState) SQLState() string { return string(s) }

// What a failed commit means: some errors say that there was none, all others leave the outcome unknown.
func TestOutcomesOfACommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		commit  error
		unknown bool
	}{
		{errors.New("connection reset"), true},
		{context.DeadlineExceeded, true},
		{sqlState("40001"), false},
		{fmt.Errorf("wrapped: %w", sqlState("40P01")), false},
		{sqlState("23505"), false},
		{sqlState("40003"), true}, // statement_completion_unknown
		{sqlState("08006"), true},
		{sqlState("57P01"), true},
		{sql.ErrTxDone, false},
	} {
		db := (&fakeDB{affected: 1, commit: c.commit}).open(t)
		err := fence.Do(t.Context(), db, table.Mark("a"), 1, nothing)
		if !errors.Is(err, c.commit) || errors.Is(err, fence.ErrUnknown) != c.unknown {
			t.Errorf("commit: %v: %v, want ErrUnknown: %v", c.commit, err, c.unknown)
		}
	}
}

// Do begins a transaction, raises the mark before anything else, and ends the transaction in one way or the other.
func TestDo(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	work := func(tx *fence.Guard) error {
		_, err := tx.ExecContext(t.Context(), "work")
		return err
	}
	for name, c := range map[string]struct {
		fake *fakeDB
		fn   func(*fence.Guard) error
		want error // nil means any error, unless the transaction was committed
		sent string
	}{
		"success":            {&fakeDB{affected: 1}, work, nil, "begin INSERT work commit"},
		"the mark is larger": {&fakeDB{rows: []int64{9}}, work, fence.ErrStale, "begin INSERT SELECT rollback"},
		"the function fails": {&fakeDB{affected: 1}, func(*fence.Guard) error { return mine }, mine,
			"begin INSERT rollback"},
		"it cannot begin": {&fakeDB{beginErr: mine}, work, mine, "begin"},
		"it cannot raise": {&fakeDB{execErr: mine}, work, mine, "begin INSERT rollback"},
		"it cannot look":  {&fakeDB{queryErr: mine}, work, mine, "begin INSERT SELECT rollback"},
		"nobody counts":   {&fakeDB{noCount: mine}, work, mine, "begin INSERT rollback"},
		"two rows":        {&fakeDB{affected: 2}, work, fence.ErrNotUnique, "begin INSERT rollback"},
		"a row that vanishes": {&fakeDB{rows: []int64{1, 1}}, work, nil,
			"begin INSERT SELECT INSERT SELECT INSERT SELECT rollback"},
	} {
		err := fence.Do(t.Context(), c.fake.open(t), table.Mark("a"), 5, c.fn)
		if sent := words(c.fake.sent); sent != c.sent || c.want != nil && !errors.Is(err, c.want) ||
			(err == nil) != strings.HasSuffix(c.sent, "commit") {
			t.Errorf("%s: %q, %v, want %q, %v", name, sent, err, c.sent, c.want)
		}
	}
}

// words are the first words of the statements that were sent.
func words(sent []string) string {
	first := slices.Clone(sent)
	for i, s := range first {
		first[i], _, _ = strings.Cut(s, " ")
	}
	return strings.Join(first, " ")
}

// A function that panics leaves no transaction behind.
func TestDoOfAPanic(t *testing.T) {
	t.Parallel()
	fake := &fakeDB{affected: 1}
	db := fake.open(t)
	func() {
		defer func() {
			if recover() != "mine" {
				t.Error("the panic is gone")
			}
		}()
		_ = fence.Do(t.Context(), db, table.Mark("a"), 1, func(*fence.Guard) error { panic("mine") })
	}()
	if got := words(fake.sent); got != "begin INSERT rollback" {
		t.Errorf("sent: %q", got)
	}
}

// The error says what the mark was and which token came. Long names are truncated in the text only.
func TestStaleError(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 100)
	err := fence.Do(t.Context(), (&fakeDB{rows: []int64{43}}).open(t), table.Mark(name), 42, nothing)
	stale, ok := errors.AsType[*fence.StaleError](err)
	if !ok || *stale != (fence.StaleError{Name: name, Have: 43, Want: 42}) {
		t.Errorf("the error is %+v", err)
	}
}

// A versioned write has its arguments in the order in which they first occur, for drivers that count them.
func TestArgumentsInOrder(t *testing.T) {
	t.Parallel()
	fake := &fakeDB{affected: 1}
	v := fence.Versioned{Table: "article", Key: "id", Version: "version"}
	if err := v.Write(t.Context(), fake.open(t), 7, 3, fence.Values{"title": "t", "body": "b"}); err != nil {
		t.Fatal(err)
	}
	want := `UPDATE "article" AS t SET "version" = $1, "body" = $2, "title" = $3 ` +
		`WHERE t."id" = $4 AND (t."version" IS NULL OR t."version" < $1)`
	if len(fake.sent) != 1 || fake.sent[0] != want {
		t.Errorf("sent:\n%q, want\n%q", fake.sent, want)
	}
}

// The results of a versioned write.
func TestWriteByVersion(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	v := fence.Versioned{Table: "article", Key: "id", Version: "version"}
	for name, c := range map[string]struct {
		fake *fakeDB
		want error
	}{
		"written":   {&fakeDB{affected: 1}, nil},
		"larger":    {&fakeDB{rows: []int64{6}}, fence.ErrStale},
		"the same":  {&fakeDB{rows: []int64{5}}, fence.ErrWritten},
		"no row":    {&fakeDB{}, fence.ErrNoRow},
		"two rows":  {&fakeDB{affected: 2}, fence.ErrNotUnique},
		"no answer": {&fakeDB{execErr: mine}, mine},
		"no count":  {&fakeDB{noCount: mine}, mine},
		"no look":   {&fakeDB{queryErr: mine}, mine},
	} {
		if err := v.Write(t.Context(), c.fake.open(t), 7, 5, fence.Values{"title": "t"}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	moving := fakeDB{rows: []int64{4, 4, 4}}
	if err := v.Write(t.Context(), moving.open(t), 7, 5, fence.Values{"title": "t"}); err == nil ||
		errors.Is(err, fence.ErrStale) {
		t.Errorf("a row that comes and goes: %v", err)
	}
}
