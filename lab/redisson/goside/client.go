package goside

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// client is what one Redisson client has: all objects, on one server, behind Sentinels or on a Cluster.
type client struct {
	*objects.Client
	rdb   goredis.UniversalClient
	sizes sync.Map // of semaphores whose permits have leases, by name
}

func (s *session) open(r request) error {
	var c struct {
		Mode         string
		Addresses    []string
		MasterName   string
		Password     string
		Watchdog     int64
		Sharded      string
		Replicas     int
		ReplicasWait int64
	}
	if err := json.Unmarshal(r.Args, &c); err != nil {
		return err
	}
	for i, a := range c.Addresses {
		c.Addresses[i] = strings.TrimPrefix(a, "redis://")
	}
	o := &goredis.UniversalOptions{
		Addrs: c.Addresses, Password: c.Password, ContextTimeoutEnabled: true, IsClusterMode: c.Mode == "cluster",
		MasterName: c.MasterName,
	}
	opened := &client{rdb: goredis.NewUniversalClient(o)}
	messages := redisson.WithMessages(map[string]redisson.Messages{
		"ON": redisson.Sharded, "OFF": redisson.Unsharded, // else Auto
	}[c.Sharded])
	opts := []objects.Option{objects.WithEngine(messages)}
	if c.Replicas != 0 {
		within := time.Duration(c.ReplicasWait) * time.Millisecond
		opts = append(opts, objects.WithEngine(redisson.WithReplicas(c.Replicas, within)))
	}
	if c.Watchdog != 0 {
		opts = append(opts, objects.WithWatchdogTimeout(time.Duration(c.Watchdog)*time.Millisecond))
	}
	var err error
	if opened.Client, err = objects.New(opened.rdb, opts...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[r.Client] != nil {
		return fmt.Errorf("goside: client %s is open already", r.Client)
	}
	s.clients[r.Client] = opened
	return nil
}

func (s *session) client(name string) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("goside: client %s is not open", name)
}

func (c *client) close() error {
	return errors.Join(c.Client.Close(), c.rdb.Close())
}
