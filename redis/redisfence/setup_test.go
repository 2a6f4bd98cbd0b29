package redisfence_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

func closeAfter[C goredis.UniversalClient](t *testing.T, c C) C {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

func newClient(t *testing.T, address string) *goredis.Client {
	t.Helper()
	return closeAfter(t, goredis.NewClient(&goredis.Options{Addr: address, ContextTimeoutEnabled: true}))
}

// startServer starts a server and returns a client of it.
func startServer(t *testing.T) *goredis.Client {
	t.Helper()
	return newClient(t, redisserver.ForTest(t, redisserver.Config{}).Addr())
}

func mustRaise(t *testing.T, c goredis.UniversalClient, m redisfence.Mark, token uint64) *redisfence.Guard {
	t.Helper()
	g, err := redisfence.Raise(t.Context(), c, m, token)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantStale expects that a token was refused by a mark.
func wantStale(t *testing.T, what string, err error, have, want uint64) {
	t.Helper()
	e, ok := errors.AsType[*fence.StaleError](err)
	if !ok || !errors.Is(err, fence.ErrStale) || e.Have != have || e.Want != want {
		t.Errorf("%s: %v, want a StaleError: have %d, want %d", what, err, have, want)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counter counts what a client sends.
type counter struct{ atomic.Int64 }

func (c *counter) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
