package redis_test

import (
	"context"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// infoHook changes the answers to INFO.
type infoHook func(info string) string

func (infoHook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h infoHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*goredis.StringCmd); ok && cmd.Name() == "info" {
			text.SetVal(h(text.Val()))
		}
		return err
	}
}

func (infoHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// asValkey names the mode as Valkey does.
func asValkey(info string) string {
	return strings.NewReplacer("redis_mode:", "server_mode:").Replace(info)
}

// withoutMode leaves the mode out.
func withoutMode(info string) string {
	return strings.NewReplacer("redis_mode:", "x:", "server_mode:", "x:").Replace(info)
}

// withInfoHook makes a client for whose servers the hook changes INFO.
func withInfoHook(client newClient, hook infoHook) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		c := client(t)
		switch c := c.(type) {
		case *goredis.ClusterClient:
			c.OnNewNode(func(node *goredis.Client) { node.AddHook(hook) })
		case *goredis.Client:
			c.AddHook(hook)
		}
		return c
	}
}

// A server that does not say whether it is part of a Cluster gets no requests.
func TestServerThatHidesItsMode(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, withInfoHook(standalone(s), withoutMode))
	if _, err := e.Take(t.Context(), lock("a")); !driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "redis_mode") {
		t.Errorf("Take: %v, want a permanent error about the mode", err)
	}
	if _, err := e.Server(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("Server: %v, want a permanent error", err)
	}
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Findings) == 0 || x.Findings[0].Code != "unknown-server" ||
		x.Findings[0].Severity != driver.Critical {
		t.Errorf("Examine: %+v, %v", x, err)
	}
	if n := command(t, s, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys have been written", n)
	}
}
