package lib

import (
	"context"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	goRedis = "github.com/redis/go-redis/v9"

	// How configurations call the clients of go-redis.
	plainClient = "plain go-redis"
	autoClient  = "AutoPipeline"
	fiveClient  = "go-redis for nodes"
)

// client returns a client of go-redis for the first address.
func client(at Config) *goredis.Client { return clientTo(at, at.firstAddr()) }

func clientTo(at Config, addr string) *goredis.Client {
	return newClient(at, &goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
}

// nodeClient returns a client for one of several nodes. Each node must be able to be slow without
// affecting the others.
func nodeClient(at Config, addr string) *goredis.Client {
	return newClient(at, &goredis.Options{Addr: addr, ReadTimeout: max(time.Second, at.Patience), MaxRetries: -1})
}

func newClient(at Config, o *goredis.Options) *goredis.Client {
	if at.Sent != nil {
		dial := goredis.NewDialer(o)
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return at.Sent.Redis(conn), nil
		}
	}
	return goredis.NewClient(o)
}

// pipelineOptions returns the configuration of an AutoPipeline.
func pipelineOptions() *goredis.AutoPipelineOptions {
	o := goredis.DefaultAutoPipelineOptions()
	o.MaxBatchSize, o.MaxConcurrentBatches, o.Unordered = 32, 8, true
	return o
}

// clients returns a client of go-redis, and where to send commands: the client itself, or its
// AutoPipeline.
func clients(at Config, pipelined bool) (*goredis.Client, goredis.UniversalClient, error) {
	c := client(at)
	if !pipelined {
		return c, c, nil
	}
	p, err := c.AutoPipelineWithOptions(pipelineOptions())
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, p, nil
}
