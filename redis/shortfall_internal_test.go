package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// A server of a Cluster that ran a script has answered, even if too few replicas have confirmed it. Nobody asks where
// the slot is, as they do when there is no answer.
func TestShortfallIsAnAnswer(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"127.0.0.1:1"},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			<-t.Context().Done() // what is asked stays without an answer
			return nil, net.ErrClosed
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	e, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	n := e.names(driver.Key{Kind: driver.Lock, Name: "a"})
	info := serverInfo{mode: modeCluster}
	srv := e.router.addServer(info, n, &server{identity: "id", scripts: e.newScriptSet("id", true)})
	for _, c := range []struct {
		sent error
		asks bool
	}{
		{&replicas.ShortfallError{Confirmed: 1, Wanted: 2}, false},
		{errors.New("the connection broke"), true},
	} {
		next, err := e.afterFailure(t.Context(), n, srv, c.sent)
		if next != srv || !errors.Is(err, c.sent) {
			t.Errorf("%v: got %v from %v, want the same from %v", c.sent, err, next, srv)
		}
		e.router.mu.Lock()
		asked := len(e.router.inquiries)
		e.router.mu.Unlock()
		if reloads := e.router.slotMapReloads.last.Load(); (asked > 0) != c.asks || (reloads != 0) != c.asks {
			t.Errorf("%v: %d inquiries, and a reload of the slots at %d; want any: %v", c.sent, asked, reloads, c.asks)
		}
	}
}

// brokenWait is a client whose scripts are answered, and whose connection breaks before the answer to WAIT.
type brokenWait struct{ redis.Hook }

func (brokenWait) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (brokenWait) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (brokenWait) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		cmds[0].(interface{ SetVal(any) }).SetVal("1")
		cmds[len(cmds)-1].SetErr(io.ErrUnexpectedEOF)
		return io.ErrUnexpectedEOF
	}
}

// An error says once where it comes from, wherever it is found.
func TestErrorsAreExplainedOnce(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	client.AddHook(brokenWait{})
	defer client.Close()
	e, err := New(client, WithReplicas(1, time.Second), WithoutFailoverGuard())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	k := driver.Key{Kind: driver.Lock, Name: "a"}
	e.router.addServer(serverInfo{}, e.names(k), &server{identity: "id", scripts: e.newScriptSet("id", false)})
	_, err = e.Take(t.Context(), driver.Request{Key: k, Owner: "owner", TTL: time.Second})
	if err == nil || strings.Count(err.Error(), "redis: ") != 1 {
		t.Errorf("take: %v", err)
	}
	e.Renew(t.Context(), []driver.Renewal{{Hold: driver.Hold{Key: k, Owner: "owner"}, TTL: time.Second}},
		func(_ int, err error) {
			if err == nil || strings.Count(err.Error(), "redis: ") != 1 {
				t.Errorf("renewal: %v", err)
			}
		})
}
