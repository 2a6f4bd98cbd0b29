package redis_test

import (
	"context"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// retold is a hook that changes what INFO says.
type retold func(info string) string

func (retold) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r retold) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*goredis.StringCmd); ok && cmd.Name() == "info" {
			text.SetVal(r(text.Val()))
		}
		return err
	}
}

func (retold) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// asValkey is what Valkey calls its mode.
func asValkey(info string) string {
	return strings.NewReplacer("redis_mode:", "server_mode:").Replace(info)
}

// asNothing does not say what it is.
func asNothing(info string) string {
	return strings.NewReplacer("redis_mode:", "x:", "server_mode:", "x:").Replace(info)
}

// telling makes a client whose servers say of themselves what the hook makes of it.
func telling(client newClient, hook retold) newClient {
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

// A server that does not say whether it is part of a Cluster gets no request.
func TestServerThatHidesItsMode(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, telling(standalone(s), asNothing))
	if _, err := e.Take(t.Context(), lock("a")); !driver.IsPermanent(err) || !strings.Contains(err.Error(), "redis_mode") {
		t.Errorf("a take: %v, want a permanent error about the mode", err)
	}
	if _, err := e.Server(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("what it is: %v, want a permanent error", err)
	}
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Findings) == 0 || x.Findings[0].Code != "unknown-server" || x.Findings[0].Severity != driver.Critical {
		t.Errorf("an examination: %+v, %v", x, err)
	}
	if n := command(t, s, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys have been written", n)
	}
}
