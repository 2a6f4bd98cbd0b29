package postgres

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// brokenServer lets everybody in, and answers the first request of each connection with answer. Then it is
// silent, and keeps the connection. It returns its address.
func brokenServer(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				b := pgproto3.NewBackend(c, c)
				if m, err := b.ReceiveStartupMessage(); err != nil {
					return
				} else if _, starts := m.(*pgproto3.StartupMessage); !starts {
					return // a request to cancel another one
				}
				b.Send(&pgproto3.AuthenticationOk{})
				b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				if err := b.Flush(); err != nil {
					return
				}
				if _, err := b.Receive(); err != nil {
					return
				}
				_, _ = c.Write([]byte(answer)) // the client may be gone
			}()
		}
	}()
	return l.Addr().String()
}

// A server whose answers make no sense, or that leaves requests unanswered, holds up neither Open nor Close: pgx would
// wait for 15 s until it ends the connection.
func TestCloseDoesNotWaitForABrokenServer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no such message": "\x01\x00\x00\x00\x06xx", "a bad length": "T\x00\x00\x00\x01", "silence": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "postgres://anna@" + brokenServer(t, answer) + "/db?sslmode=disable"
			pool, err := pgxpool.New(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			e, err := New(pool)
			if err != nil {
				t.Fatal(err)
			}
			e.ownsPool = true
			for what, f := range map[string]func(context.Context) error{
				"Open": func(ctx context.Context) error {
					_, err := Open(ctx, url)
					return err
				},
				"List and Close": func(ctx context.Context) error {
					_, err := e.List(ctx, driver.Query{})
					_ = e.Close() // it returns nil
					return err
				},
			} {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := f(ctx)
				cancel()
				if took := time.Since(began); err == nil || took > 5*time.Second {
					t.Errorf("%s took %v: %v", what, took, err)
				}
			}
		})
	}
}
