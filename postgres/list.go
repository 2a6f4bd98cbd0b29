package postgres

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// List implements [driver.Engine]. All entries of one listing existed at the same moment.
func (e *Engine) List(ctx context.Context, q driver.Query) (page []driver.Status, err error) {
	q.Limit = paging.Limit(q)
	err = e.inTransaction(ctx, toLook, readOnlySnapshot, func(tx pgx.Tx) error {
		for kind := range paging.Kinds(q) {
			from, to, some := bounds(q, kind)
			if !some || len(page) >= q.Limit {
				continue
			}
			list := e.listHeld
			if kind == driver.Latch {
				list = e.listLatches
			}
			part, err := list(ctx, tx, kind, from, to, q.Limit-len(page), q.Queue)
			if err != nil {
				return err
			}
			page = append(page, part...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// bounds returns the first and the last name of a kind that the query asks for, and whether it asks for any.
func bounds(q driver.Query, kind driver.Kind) (from, to string, some bool) {
	for _, text := range []string{q.Prefix, q.Name} {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return "", "", false // names cannot contain that
		}
	}
	// The last rune, repeated one more time than fits into a name.
	from, to = q.Prefix, q.Prefix+strings.Repeat("\U0010ffff", 257)
	if q.Name != "" {
		from, to = max(from, q.Name), min(to, q.Name)
	}
	if kind == q.After.Kind {
		// The next possible name: a zero byte would come before it, but names have none.
		from = max(from, q.After.Name+"\x01")
	}
	return from, to, from <= to
}

// listHeld lists the names of a kind that are held or waited for.
func (e *Engine) listHeld(
	ctx context.Context, tx pgx.Tx, kind driver.Kind, from, to string, limit int, queue bool,
) (page []driver.Status, err error) {
	var names []string
	var name string
	err = forEachRow(ctx, tx, []any{&name}, func() {
		names = append(names, name)
		page = append(page, driver.Status{Key: driver.Key{Kind: kind, Name: name}})
	}, e.statements.keys, int16(kind), from, to, int32(limit))
	if err != nil || len(page) == 0 {
		return nil, err
	}
	at := make(map[string]*driver.Status, len(page))
	for i := range page {
		at[page[i].Name] = &page[i]
	}
	var k driver.Kind
	var h driver.Holder
	err = forEachRow(ctx, tx, []any{&k, &name, &h.Token, &h.Mode, &h.Weight, &h.Holder, &h.TTL, &h.Age}, func() {
		h.TTL, h.Age = max(h.TTL, 0), max(h.Age, 0)
		at[name].Holders = append(at[name].Holders, h)
	}, e.statements.holders, int16(kind), names)
	if err != nil {
		return nil, err
	}
	var w driver.Waiter
	err = forEachRow(ctx, tx, []any{&k, &name, &w.Mode, &w.Weight, &w.Holder, &w.Age}, func() {
		w.Age = max(w.Age, 0)
		at[name].Waiting++
		if queue {
			at[name].Queue = append(at[name].Queue, w)
		}
	}, e.statements.waiters, int16(kind), names)
	return page, err
}

// listLatches lists latches.
func (e *Engine) listLatches(
	ctx context.Context, tx pgx.Tx, kind driver.Kind, from, to string, limit int, _ bool,
) (page []driver.Status, err error) {
	var name string
	var l driver.LatchState
	err = forEachRow(ctx, tx, []any{&name, &l.Generation, &l.Count, &l.TTL}, func() {
		l.TTL = max(l.TTL, time.Duration(0))
		latch := l
		page = append(page, driver.Status{Key: driver.Key{Kind: kind, Name: name}, Latch: &latch})
	}, e.statements.latches, from, to, int32(limit))
	return page, err
}
