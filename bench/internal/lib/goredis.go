package lib

import (
	"context"
	"net"

	goredis "github.com/redis/go-redis/v9"
)

const (
	goRedis = "github.com/redis/go-redis/v9"

	// How the client of all libraries on go-redis is configured. Neither more connections nor other settings of
	// AutoPipeline were faster here.
	plainClient = "client: go-redis, ContextTimeoutEnabled, else defaults (10 connections per processor)"
	autoClient  = "client: go-redis, AutoPipeline() with its defaults, which its documentation calls best for blocking calls"
)

// client returns a client of go-redis.
func client(at At) *goredis.Client {
	o := &goredis.Options{Addr: at.Addr, ContextTimeoutEnabled: true}
	if at.Sent != nil {
		dial := goredis.NewDialer(o)
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return at.Sent.Watch(conn), nil
		}
	}
	return goredis.NewClient(o)
}

// clients returns a client of go-redis, and what commands are to be given to: the same, or its AutoPipeline.
func clients(at At, pipelined bool) (*goredis.Client, goredis.UniversalClient, error) {
	c := client(at)
	if !pipelined {
		return c, c, nil
	}
	p, err := c.AutoPipeline()
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, p, nil
}
