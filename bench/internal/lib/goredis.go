package lib

import (
	"context"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	goRedis = "github.com/redis/go-redis/v9"

	// How the client of all libraries on go-redis is configured. More connections were no faster here. Small batches of
	// which several are under way are: with the defaults of AutoPipeline the client and the server wait for each other.
	plainClient = "client: go-redis, ContextTimeoutEnabled, else defaults (10 connections per processor)"
	autoClient  = "client: go-redis, AutoPipeline with MaxBatchSize 32, MaxConcurrentBatches 8, Unordered"
	fiveClient  = "each node: client: go-redis, ReadTimeout 1 s and no retries, else defaults"
)

// client returns a client of go-redis to the only address.
func client(at At) *goredis.Client { return clientTo(at, at.addr()) }

func clientTo(at At, addr string) *goredis.Client {
	return newClient(at, &goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
}

// nodeClient returns a client to one of several nodes, of which each must be free to be slow.
func nodeClient(at At, addr string) *goredis.Client {
	return newClient(at, &goredis.Options{Addr: addr, ReadTimeout: time.Second, MaxRetries: -1})
}

func newClient(at At, o *goredis.Options) *goredis.Client {
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

// together is how an AutoPipeline is configured.
func together() *goredis.AutoPipelineOptions {
	o := goredis.DefaultAutoPipelineOptions()
	o.MaxBatchSize, o.MaxConcurrentBatches, o.Unordered = 32, 8, true
	return o
}

// clients returns a client of go-redis, and what commands are to be given to: the same, or its AutoPipeline.
func clients(at At, pipelined bool) (*goredis.Client, goredis.UniversalClient, error) {
	c := client(at)
	if !pipelined {
		return c, c, nil
	}
	p, err := c.AutoPipelineWithOptions(together())
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, p, nil
}
