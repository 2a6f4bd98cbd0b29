package fencing

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

var article = fence.Versioned{Table: "article", Key: "id", Version: "version"}

func articles(t *testing.T, d database) {
	d.exec(t, "CREATE TABLE article (id bigint PRIMARY KEY, title text, body text, version bigint)")
	d.exec(t, "INSERT INTO article (id) VALUES (1)")
}

// A row accepts larger versions only, each once.
func TestVersions(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		articles(t, d)
		conn, err := d.Conn(t.Context())
		noErr(t, err)
		defer conn.Close()
		for _, c := range []struct {
			token uint64
			want  error
		}{{5, nil}, {5, fence.ErrWritten}, {4, fence.ErrStale}, {6, nil}, {5, fence.ErrStale}, {fence.MaxToken, nil}} {
			err := article.Write(t.Context(), conn, 1, c.token, fence.Values{"title": fmt.Sprint(c.token), "body": nil})
			if !errors.Is(err, c.want) {
				t.Errorf("%d: %v, want %v", c.token, err, c.want)
			}
		}
		if got := d.text(t, "SELECT title || ' ' || version FROM article"); got != "9007199254740991 9007199254740991" {
			t.Errorf("the row is %q", got)
		}
		if err := article.Write(t.Context(), d, 2, 1, fence.Values{"title": "x"}); !errors.Is(err, fence.ErrNoRow) {
			t.Errorf("a row that is not there: %v, want ErrNoRow", err)
		}
		if err := article.Write(t.Context(), d, 1, 1, fence.Values{"nothing": "x"}); err == nil ||
			errors.Is(err, fence.ErrStale) {
			t.Errorf("a column that is not there: %v", err)
		}
	})
}

// A transaction or a guard can be used instead of a database.
func TestVersionsInTransactions(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		articles(t, d)
		tx, err := d.BeginTx(t.Context(), nil)
		noErr(t, err)
		noErr(t, article.Write(t.Context(), tx, 1, 5, fence.Values{"title": "x"}))
		noErr(t, tx.Rollback())
		noErr(t, fence.Do(t.Context(), d, marks.Mark("a"), 1, func(tx *fence.Guard) error {
			return article.Write(t.Context(), tx, 1, 1, fence.Values{"title": "y"})
		}))
		if got := d.text(t, "SELECT title || ' ' || version FROM article"); got != "y 1" {
			t.Errorf("the row is %q", got)
		}
	})
}

// Whatever the order, the write with the largest token wins.
func TestLargestVersionHasTheLastWord(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		articles(t, d)
		const tokens = 20
		var work sync.WaitGroup
		for token := uint64(1); token <= tokens; token++ {
			work.Go(func() {
				err := article.Write(t.Context(), d, 1, token, fence.Values{"title": fmt.Sprint(token)})
				if err != nil && (token == tokens || !errors.Is(err, fence.ErrStale)) {
					t.Errorf("%d: %v", token, err)
				}
			})
		}
		work.Wait()
		if got := d.text(t, "SELECT title || ' ' || version FROM article"); got != "20 20" {
			t.Errorf("the row is %q", got)
		}
	})
}

// The documents warn of this: a value that was computed from the row is lost, although versions
// only grow.
func TestVersionsDoNotProtectWhatWasRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		articles(t, d)
		d.exec(t, "UPDATE article SET title = ''")
		read := func() string { return d.text(t, "SELECT title FROM article") }
		old := read()
		next := read() // the next holder reads before the late write of the old one
		noErr(t, article.Write(t.Context(), d, 1, 1, fence.Values{"title": old + "o"}))
		noErr(t, article.Write(t.Context(), d, 1, 2, fence.Values{"title": next + "n"}))
		if got := read(); got != "n" {
			t.Errorf("%q: nothing was lost, so the warning is not needed", got)
		}
	})
}
