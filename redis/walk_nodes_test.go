package redis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// stale has the first nodes that are asked believe that a master of the Cluster keeps nothing yet, and another one its slots: what they have not heard of.
type stale struct {
	to, from string // ids
	times    *atomic.Int64
}

func (s stale) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (s stale) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (s stale) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		answer, ok := cmd.(*goredis.StringCmd)
		if !ok || err != nil || !strings.EqualFold(fmt.Sprint(cmd.Args()...), "clusternodes") || strings.Contains(answer.Val(), "myself,slave") || s.times.Add(-1) < 0 {
			return err
		}
		lines := strings.Split(strings.TrimSpace(answer.Val()), "\n")
		var moved string
		for i, line := range lines {
			if fields := strings.Fields(line); fields[0] == s.to {
				moved, lines[i] = strings.Join(fields[8:], " "), strings.Join(fields[:8], " ")
			}
		}
		for i, line := range lines {
			if strings.HasPrefix(line, s.from) {
				lines[i] += " " + moved
			}
		}
		answer.SetVal(strings.Join(lines, "\n") + "\n")
		return nil
	}
}

// A master of which the node that is asked for the nodes has not heard yet that it keeps slots is searched all the same. If nobody ever names it, that is an error.
func TestWalkWhereANodeHasNotHeardOfAMaster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	e := unguarded(t, cluster(c))
	var want []string
	for i := range 30 {
		r := lasting(fmt.Sprintf("name %02d", i), time.Minute)
		takes(t, e, r)
		want = append(want, r.Name)
	}
	from, err := c.Owner(redisserver.Slot(redis.DefaultPrefix + want[0]))
	if err != nil {
		t.Fatal(err)
	}
	id := func(s *redisserver.Server) string { return command(t, s, "CLUSTER", "MYID").(string) }
	to := c.Nodes[(slices.Index(c.Nodes, from)+1)%3]
	for times, fails := range map[int64]bool{1: false, 1000: true} {
		left := &atomic.Int64{}
		left.Store(times)
		hook := stale{id(to), id(from), left}
		through := unguarded(t, func(t *testing.T) goredis.UniversalClient {
			nodes := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
			nodes.AddHook(hook)
			return closed(t, nodes)
		})
		got, err := walked(t.Context(), through, driver.Query{})
		switch {
		case left.Load() == times:
			t.Error("nobody has been asked for the nodes")
		case !fails && (err != nil || !slices.Equal(got, want)):
			t.Errorf("told %q, %v; want %q", got, err, want)
		case fails && (!driver.HadNoEffect(err) || len(got) > 0):
			t.Errorf("told %q, %v; want an error", got, err)
		}
	}
}

// gone has the first questions for the nodes fail, as those to a node do that is gone.
type gone struct{ times *atomic.Int64 }

func (g gone) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (g gone) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (g gone) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "cluster" && g.times.Add(-1) >= 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

// A node that is gone, and that the client asks for the others, keeps nobody from looking at these.
func TestLookWhereANodeIsGone(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	takes(t, unguarded(t, cluster(c)), lasting("a", time.Minute))
	left := &atomic.Int64{}
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		nodes := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
		nodes.AddHook(gone{left})
		return closed(t, nodes)
	})
	left.Store(3)
	if got, err := walked(t.Context(), e, driver.Query{}); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("Walk tells of %q, %v", got, err)
	}
	left.Store(3)
	if x, err := e.Examine(t.Context()); err != nil || len(x.Places) != 3 {
		t.Errorf("Examine tells of %+v, %v", x.Places, err)
	}
	left.Store(1000)
	if got, err := walked(t.Context(), e, driver.Query{}); !errors.Is(err, io.EOF) || len(got) > 0 {
		t.Errorf("where no node answers, Walk tells of %q, %v", got, err)
	}
}
