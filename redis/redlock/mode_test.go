package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// modeName is a hook that has INFO say another name for redis_mode, and for server_mode, as some servers call it.
type modeName string

func (modeName) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r modeName) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*goredis.StringCmd); ok && cmd.Name() == "info" {
			text.SetVal(strings.NewReplacer("redis_mode:", string(r), "server_mode:", string(r)).Replace(text.Val()))
		}
		return err
	}
}

func (modeName) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A node of a Cluster has no vote, whatever it calls its mode. Nor has a server that does not say its mode.
func TestModeDecidesWhoVotes(t *testing.T) {
	t.Parallel()
	s := servers(t, 2)
	third := func(at *redisserver.Server, mode modeName) []goredis.UniversalClient {
		all := clients(t, append(addresses(s), at.Addr()))
		all[2].AddHook(mode)
		return all
	}
	clustered := redisserver.ForTest(t, redisserver.Config{Lines: []string{"cluster-enabled yes"}})
	for _, mode := range []modeName{"redis_mode:", "server_mode:"} {
		e, err := redlock.New(t.Context(), third(clustered, mode), patient)
		if err == nil {
			e.Close()
		}
		if other := new(*redlock.NotIndependentError); !errors.As(err, other) {
			t.Errorf("a node of a Cluster that says %s: %v", mode, err)
		}
	}
	hidden := redisserver.ForTest(t, redisserver.Config{})
	e, err := redlock.New(t.Context(), third(hidden, "another_mode:"), patient,
		redlock.WithNodes(redis.WithoutFailoverGuard()))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s[0].Kill()
	if _, err = e.Take(t.Context(), request("name")); err == nil {
		t.Fatal("a server votes of which it is not known what it is")
	}
	for _, v := range votesOf(t, err) {
		if v.Node == hidden.Addr() && (!driver.IsPermanent(v.Err) || !strings.Contains(v.Err.Error(), "redis_mode")) {
			t.Errorf("its vote: %+v", v)
		}
	}
	if keys, err := hidden.Command("DBSIZE"); err != nil || keys != int64(0) {
		t.Errorf("%v keys (%v) were written there", keys, err)
	}
}
