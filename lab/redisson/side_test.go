package redisson

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
)

func TestRedissonFindsServersInEveryWay(t *testing.T) {
	t.Parallel()
	java := javaside.Start(t, javaside.Newest)
	for way, setup := range map[string]func(t *testing.T) javaside.Config{
		"password": func(t *testing.T) javaside.Config {
			return javaside.Single(redisserver.ForTest(t, redisserver.Config{Password: "secret"}).URL())
		},
		"RESP3": func(t *testing.T) javaside.Config {
			c := javaside.Single(redisserver.ForTest(t, redisserver.Config{}).URL())
			c.Protocol = "RESP3"
			return c
		},
		"sentinel": func(t *testing.T) javaside.Config {
			r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
			var addresses []string
			for _, s := range redisserver.SentinelsForTest(t, 3, r).All {
				addresses = append(addresses, s.Addr())
			}
			c := javaside.Several("sentinel", addresses...)
			c.MasterName = redisserver.MasterName
			return c
		},
		"cluster": func(t *testing.T) javaside.Config {
			return javaside.Several("cluster", redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}).Addrs()...)
		},
	} {
		t.Run(way, func(t *testing.T) {
			java.MustOpen(way, setup(t))
			if got := java.MustCall(way, "lock.tryLock", "x"); got != true {
				t.Errorf("tryLock of a free lock: %v", got)
			}
			java.MustCall(way, "lock.unlock", "x")
			if err := java.CloseClient(t.Context(), way); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJavaThreadsAreInterruptedPausedAndKilled(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	java := javaside.Start(t, javaside.Newest)
	java.MustOpen("a", javaside.Single(s.URL()))
	java.MustCall("a", "lock.lock", "x")
	waiter := java.Go(javaside.Call{Client: "a", Thread: "waiter", Op: "lock.lockInterruptibly", Name: "x"})
	select {
	case <-waiter.Done():
		t.Error("a thread did not wait for the lock of another one")
	case <-time.After(100 * time.Millisecond):
	}
	if err := java.Interrupt(t.Context(), "a", "waiter"); err != nil {
		t.Fatal(err)
	}
	_, err := waiter.Wait(t.Context())
	if e, ok := errors.AsType[javaside.Error](err); !ok || e.Class() != "InterruptedException" {
		t.Errorf("the interrupted wait: %v", err)
	}
	if err := java.Pause(); err != nil {
		t.Fatal(err)
	}
	call := java.Go(javaside.Call{Client: "a", Op: "lock.isLocked", Name: "x"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if v, err := call.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused program has answered %v: %v", v, err)
	}
	if err := java.Resume(); err != nil {
		t.Fatal(err)
	}
	if v, err := call.Wait(t.Context()); v != true || err != nil {
		t.Errorf("a program that goes on has answered %v: %v", v, err)
	}
	java.Kill()
	if _, err := java.Call(t.Context(), javaside.Call{Client: "a", Op: "lock.isLocked", Name: "x"}); err == nil {
		t.Error("a program that was killed has answered")
	}
	if held, err := s.Command("EXISTS", "x"); held != int64(1) || err != nil {
		t.Errorf("the lock of a program that was killed: %v: %v", held, err)
	}
}

func TestTurnsOfAThreadAreMeasuredAndRegistered(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	java := javaside.Start(t, javaside.Newest)
	java.MustOpen("a", javaside.Single(server.URL()))
	java.MustOpen("b", javaside.Single(server.URL()))
	r := register.New()
	spec := javaside.Turns{Kind: "lock", For: 200 * time.Millisecond, Hold: time.Millisecond,
		Register: r.Listen(t).Addr()}
	turns, finished, err := java.Turns(t.Context(), "a", "x", spec)
	if err != nil || !finished || len(turns) == 0 || r.Holds("x")["a"] != len(turns) || len(r.Overlaps()) > 0 {
		t.Fatalf("%d turns, finished %v, %v; registered: %v, %q", len(turns), finished, err, r.Holds("x"), r.Overlaps())
	}
	for _, turn := range turns {
		if turn.Waited <= 0 || turn.Took < turn.Waited+spec.Hold || time.Since(turn.Granted) > time.Minute {
			t.Errorf("a turn: %+v", turn)
		}
	}
	fenced := javaside.Turns{Kind: "fenced", For: 20 * time.Millisecond}
	if turns, _, err := java.Turns(t.Context(), "a", "y", fenced); err != nil || len(turns) == 0 {
		t.Errorf("without a register: %d turns, %v", len(turns), err)
	}
	java.MustCall("b", "lock.lock", "x")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if turns, finished, err := java.Turns(ctx, "a", "x", spec); err != nil || finished || len(turns) > 0 {
		t.Errorf("while another client holds it: %d turns, finished %v, %v", len(turns), finished, err)
	}
}
