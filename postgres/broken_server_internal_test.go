package postgres

import (
	"context"
	"errors"
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

// Without a deadline, Open gives up a server that lets clients in, and then is silent.
func TestOpenWithoutADeadlineGivesUp(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ended := make(chan error, 1)
	go func() {
		_, err := Open(context.WithoutCancel(t.Context()), "postgres://anna@"+brokenServer(t, "")+"/db?sslmode=disable")
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, errOpenTimeout) || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
			t.Errorf("Open: %v", err)
		}
		if took := time.Since(began); took < openTimeout {
			t.Errorf("Open gave up after %v", took)
		}
	case <-time.After(openTimeout + 10*time.Second):
		t.Fatal("Open does not end")
	}
}

// A server that accepts connections and says nothing, as one that was stopped, is given up sooner.
func TestOpenOfASilentServerGivesUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for parameters, limit := range map[string]time.Duration{
		"sslmode=disable":                   connectTimeout,
		"sslmode=disable&connect_timeout=1": time.Second,
	} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := Open(ctx, "postgres://anna@"+l.Addr().String()+"/db?"+parameters)
			if took := time.Since(began); err == nil || took < limit || took > limit+10*time.Second {
				t.Errorf("Open took %v: %v", took, err)
			}
		})
	}
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
