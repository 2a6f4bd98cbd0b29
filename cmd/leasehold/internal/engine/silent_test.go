package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

// A cancelled call on a server that does not answer ends at once. Nothing was sent to the server, so Close does not
// wait for anything to be cleaned up there, either.
func TestGivingUpOnAServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	const patient = "?timeout=10m&dial_timeout=10m"
	for name, url := range map[string]string{
		"redis":             "redis://%s" + patient,
		"redis, TLS":        "rediss://%s" + patient,
		"cluster":           "redis+cluster://%s" + patient,
		"sentinel":          "redis+sentinel://%s/main" + patient,
		"sentinel, TLS":     "rediss+sentinel://%s/main" + patient,
		"redisson":          "redisson://%s" + patient,
		"redisson, Cluster": "redisson+cluster://%s" + patient,
		"redlock":           "redlock://%s,localhost:1,localhost:2?timeout=10m&dial_timeout=10m&node_timeout=100ms",
		"etcd":              "etcd://%s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			e, shut, err := Open(fmt.Sprintf(url, l.Addr()))
			if err != nil {
				t.Fatal(err)
			}
			client := leasehold.New(e, leasehold.WithRequestTimeout(time.Hour))
			ctx, cancel := context.WithCancel(t.Context())
			locked := begin(func() error {
				_, err := client.Mutex("a").Lock(ctx)
				return err
			})
			if _, err := l.Accept(); err != nil {
				t.Fatal(err)
			}
			cancel()
			// Some give up by themselves.
			if err := awaitEnd(t, "Lock", locked); !errors.Is(err, context.Canceled) &&
				!errors.Is(err, leasehold.ErrUnavailable) {
				t.Errorf("Lock: %v", err)
			}
			if err := awaitEnd(t, "Close of the client", begin(client.Close)); err != nil {
				t.Errorf("Close of the client: %v", err)
			}
			if err := awaitEnd(t, "Close of the engine", begin(shut)); err != nil {
				t.Errorf("Close of the engine: %v", err)
			}
		})
	}
}

// Engines that ask a server before they can be used give up one that says nothing as soon as others do.
func TestOpeningAServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"postgres": "postgres://user@%s/db", "zookeeper": "zookeeper://%s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			began := time.Now()
			_, _, err = Open(fmt.Sprintf(url, l.Addr()))
			if took := time.Since(began); err == nil || took > leasehold.DefaultRequestTimeout+4*time.Second {
				t.Errorf("Open took %v: %v", took, err)
			}
		})
	}
}

func begin(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func awaitEnd(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", what)
		return nil
	}
}
