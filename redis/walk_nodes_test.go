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

// staleNodes makes the first nodes that are asked believe that a master of the Cluster keeps no slots yet, and another
// one keeps them.
type staleNodes struct {
	to, from string // node IDs
	times    *atomic.Int64
}

func (n staleNodes) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (n staleNodes) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (n staleNodes) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		answer, ok := cmd.(*goredis.StringCmd)
		if !ok || err != nil || !strings.EqualFold(fmt.Sprint(cmd.Args()...), "clusternodes") ||
			strings.Contains(answer.Val(), "myself,slave") || n.times.Add(-1) < 0 {
			return err
		}
		lines := strings.Split(strings.TrimSpace(answer.Val()), "\n")
		var moved string
		for i, line := range lines {
			if fields := strings.Fields(line); fields[0] == n.to {
				moved, lines[i] = strings.Join(fields[8:], " "), strings.Join(fields[:8], " ")
			}
		}
		for i, line := range lines {
			if strings.HasPrefix(line, n.from) {
				lines[i] += " " + moved
			}
		}
		answer.SetVal(strings.Join(lines, "\n") + "\n")
		return nil
	}
}

// The node that is asked for the list of nodes does not know yet that a master keeps slots. The master is searched
// nevertheless. If no node ever names it, the walk fails.
func TestWalkWhereANodeHasNotHeardOfAMaster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	e := unguarded(t, cluster(c))
	var want []string
	for i := range 30 {
		r := lasting(fmt.Sprintf("name %02d", i), time.Minute)
		mustTake(t, e, r)
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
		hook := staleNodes{id(to), id(from), left}
		through := unguarded(t, func(t *testing.T) goredis.UniversalClient {
			nodes := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
			nodes.AddHook(hook)
			return closed(t, nodes)
		})
		got, err := walkNames(t.Context(), through, driver.Query{})
		switch {
		case left.Load() == times:
			t.Error("nobody has been asked for the nodes")
		case !fails && (err != nil || !slices.Equal(got, want)):
			t.Errorf("got %q, %v; want %q", got, err, want)
		case fails && (!driver.HadNoEffect(err) || len(got) > 0):
			t.Errorf("got %q, %v; want an error", got, err)
		}
	}
}

// failingNodes makes the first requests for the list of nodes fail, as if the node were gone.
type failingNodes struct{ times *atomic.Int64 }

func (n failingNodes) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (n failingNodes) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (n failingNodes) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "cluster" && n.times.Add(-1) >= 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

// If the node that the client asks for the list of nodes is gone, the other nodes are read nevertheless.
func TestWalkAndExamineWhereANodeIsGone(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	mustTake(t, unguarded(t, cluster(c)), lasting("a", time.Minute))
	left := &atomic.Int64{}
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		nodes := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
		nodes.AddHook(failingNodes{left})
		return closed(t, nodes)
	})
	left.Store(3)
	if got, err := walkNames(t.Context(), e, driver.Query{}); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("Walk: %q, %v", got, err)
	}
	left.Store(3)
	if x, err := e.Examine(t.Context()); err != nil || len(x.Servers) != 3 {
		t.Errorf("Examine: %+v, %v", x.Servers, err)
	}
	left.Store(1000)
	if got, err := walkNames(t.Context(), e, driver.Query{}); !errors.Is(err, io.EOF) || len(got) > 0 {
		t.Errorf("where no node answers, Walk: %q, %v", got, err)
	}
}
