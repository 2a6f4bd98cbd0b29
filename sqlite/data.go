package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

//go:embed data.sql
var dataTable string

// setData is SetData in the goroutine of a worker.
func (e *Engine) setData(ctx context.Context, s driver.DataSet) error {
	var refused error
	err := e.change(ctx, e.durable, func(v *view) (err error) {
		refused, err = v.setData(s)
		return err
	})
	if err != nil {
		return err
	}
	return refused
}

// setData returns why data was refused, if it was.
func (v *view) setData(s driver.DataSet) (refused, err error) {
	var held bool
	err = v.row([]any{&held}, `
		SELECT EXISTS (SELECT 1 FROM holders WHERE kind = ? AND name = ? AND owner = ? AND mode = ? AND expires > ?)`,
		driver.Lock, s.Hold.Name, s.Hold.Owner, driver.Exclusive, v.now)
	if err != nil || !held {
		return driver.ErrNotHeld, err
	}
	stored, err := v.readData(s.Hold.Name)
	if err != nil {
		return nil, err
	}
	if replaces, refused := s.Data.Replaces(stored); !replaces {
		return refused, nil
	}
	_, err = v.exec("INSERT OR REPLACE INTO data (name, token, number, value) VALUES (?, ?, ?, coalesce(?, x''))",
		s.Hold.Name, int64(s.Data.Token), int64(s.Data.Number), s.Data.Value)
	return nil, err
}

// readData returns the zero Data if there is none.
func (v *view) readData(name string) (d driver.Data, err error) {
	err = v.row([]any{&d.Token, &d.Number, &d.Value}, "SELECT token, number, value FROM data WHERE name = ?", name)
	if errors.Is(err, sql.ErrNoRows) {
		return driver.Data{}, nil
	}
	return d, err
}

// readData is Data in the goroutine of a worker.
func (e *Engine) readData(ctx context.Context, name string) (d driver.Data, err error) {
	err = e.read(ctx, func(v *view) (err error) {
		if e.readOnly { // nobody may have made the table
			var exists bool
			err = v.row([]any{&exists}, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'data')")
			if err != nil || !exists {
				return err
			}
		}
		d, err = v.readData(name)
		return err
	})
	if err != nil || len(d.Value) == 0 {
		return driver.Data{}, err
	}
	return d, nil
}
