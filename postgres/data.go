package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// SetData implements [driver.DataKeeper]. Data survives a crash of the server, and is copied to standbys.
func (e *Engine) SetData(ctx context.Context, s driver.DataSet) error {
	var held bool
	err := e.ask(ctx, toStore, []any{&held}, e.statements.dataSet,
		s.Hold.Name, s.Hold.Owner, int64(s.Data.Token), int64(s.Data.Number), s.Data.Value)
	if err == nil && !held {
		err = driver.ErrNotHeld
	}
	return err
}

// SetDataTx is [leasehold.Lease.SetData] in a transaction: the data is stored if the transaction is committed, together
// with what else it changes. It also ties the transaction to the lease, as [Engine.Guard] does, and what is said there
// holds here, too: the transaction is never committed after somebody else was granted the lock.
//
// The lease must be an exclusive lock. Do not call SetData while the transaction is open: it would wait. If the commit
// has no answer, the data is stored or not, like the rest. A SetData before that had no answer may still replace it.
//
// It returns ErrLeaseLost if the lease has ended. Any other error says nothing about the lease, and the transaction has
// failed.
//
// [leasehold.Lease.SetData]: https://pkg.go.dev/github.com/leasehold-go/leasehold#Lease.SetData
func (e *Engine) SetDataTx(ctx context.Context, tx GuardTx, lease Lease, data []byte) error {
	return e.setDataIn(lease, data, func(query, name string, token int64, data []byte) (int64, error) {
		tag, err := tx.Exec(ctx, query, name, token, data)
		return tag.RowsAffected(), err
	})
}

// SetDataSQL is [Engine.SetDataTx] for a transaction of database/sql. The driver must take parameters as $1, as those
// of pgx and lib/pq do.
func (e *Engine) SetDataSQL(ctx context.Context, tx *sql.Tx, lease Lease, data []byte) error {
	return e.setDataIn(lease, data, func(query, name string, token int64, data []byte) (int64, error) {
		result, err := tx.ExecContext(ctx, query, name, token, data)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	})
}

// setDataIn runs the query that stores data in a transaction. run returns how many rows it has answered with.
func (e *Engine) setDataIn(
	lease Lease, data []byte, run func(query, name string, token int64, data []byte) (int64, error),
) error {
	if len(data) > driver.MaxDataSize {
		return driver.Permanent(fmt.Errorf("postgres: %d bytes of data are too many: at most %d are allowed",
			len(data), driver.MaxDataSize))
	}
	return e.runGuard(lease, func(_, name string, token int64) (bool, error) {
		rows, err := run(e.statements.dataSetIn, name, token, data)
		return rows > 0, err
	})
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (d driver.Data, err error) {
	if empty, err := e.hasNoTables(ctx); empty || err != nil {
		return d, err
	}
	var token, number int64
	err = e.read(ctx, toLook, []any{&token, &number, &d.Value}, e.statements.dataRead, name)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && len(d.Value) == 0:
		return driver.Data{}, nil
	case err == nil && (token <= 0 || token > driver.MaxToken || number < 0):
		err = errData
	}
	if err != nil {
		return driver.Data{}, err
	}
	d.Token, d.Number = uint64(token), uint64(number)
	return d, nil
}
