package javaside

import (
	"net/url"
	"time"
)

// Config says how a Redisson client is configured. Zero values stand for Redisson's defaults.
type Config struct {
	// Mode is "single", "sentinel", "cluster" or "replicated". Default: single.
	Mode string
	// Addresses are "redis://HOST:PORT": of the server, the sentinels, or some nodes.
	Addresses []string
	// MasterName is the name under which sentinels watch the master.
	MasterName string
	Password   string
	// Name is the name that connections tell the server.
	Name string
	// Protocol is "RESP2" or "RESP3".
	Protocol string
	// Prefix is put in front of all names by a NameMapper.
	Prefix string
	// Codec is the class of the codec for values.
	Codec string
	// Watchdog is lockWatchdogTimeout, and WatchdogBatch is lockWatchdogBatchSize.
	Watchdog      time.Duration
	WatchdogBatch int
	// FairWait is fairLockWaitTimeout.
	FairWait time.Duration
	// SlavesSyncTimeout is how long WAIT may take.
	SlavesSyncTimeout time.Duration
	// UncheckedReplicas turns checkLockSyncedSlaves off.
	UncheckedReplicas bool
	// Replicas and ReplicasWait are for the twin in Go: how many must confirm, and within what time.
	Replicas     int
	ReplicasWait time.Duration
	// WholeScripts turns useScriptCache off: scripts are sent by EVAL.
	WholeScripts bool
	// Sharded is "AUTO", "ON" or "OFF": shardedSubscriptionMode of a cluster.
	Sharded string
	// Timeout is how long a reply may take, and RetryDelay the fixed time before a request is sent again.
	Timeout             time.Duration
	ConnectTimeout      time.Duration
	SubscriptionTimeout time.Duration
	RetryDelay          time.Duration
	// RetryAttempts is how often a request is sent again. nil stands for the default.
	RetryAttempts *int
	// Defaults keeps Redisson's defaults for threads, connections and pings, too. Otherwise there are as few as
	// possible.
	Defaults bool
}

// Single is the configuration for one server, from its URL with or without a password: "redis://:PASSWORD@HOST:PORT".
func Single(server string) Config {
	u, err := url.Parse(server)
	if err != nil {
		return Config{Addresses: []string{server}}
	}
	password, _ := u.User.Password()
	return Config{Addresses: []string{"redis://" + u.Host}, Password: password}
}

// Several is the configuration for sentinels or a cluster, from their addresses "HOST:PORT".
func Several(mode string, addresses ...string) Config {
	c := Config{Mode: mode}
	for _, a := range addresses {
		c.Addresses = append(c.Addresses, "redis://"+a)
	}
	return c
}

// fields are the fields that are not the default, as the program reads them.
func (c Config) fields() map[string]any {
	m := map[string]any{"addresses": c.Addresses}
	for name, text := range map[string]string{
		"mode": c.Mode, "masterName": c.MasterName, "password": c.Password, "protocol": c.Protocol, "prefix": c.Prefix,
		"sharded": c.Sharded, "clientName": c.Name, "codec": c.Codec,
	} {
		if text != "" {
			m[name] = text
		}
	}
	for name, d := range map[string]time.Duration{
		"watchdog": c.Watchdog, "fairWait": c.FairWait, "slavesSyncTimeout": c.SlavesSyncTimeout, "timeout": c.Timeout,
		"replicasWait":   c.ReplicasWait,
		"connectTimeout": c.ConnectTimeout, "subscriptionTimeout": c.SubscriptionTimeout, "retryDelay": c.RetryDelay,
	} {
		if d != 0 {
			m[name] = d.Milliseconds()
		}
	}
	if c.WatchdogBatch != 0 {
		m["watchdogBatch"] = c.WatchdogBatch
	}
	if c.Replicas != 0 {
		m["replicas"] = c.Replicas
	}
	if c.UncheckedReplicas {
		m["checkSyncedSlaves"] = false
	}
	if c.WholeScripts {
		m["scriptCache"] = false
	}
	if c.Defaults {
		m["defaults"] = true
	}
	if c.RetryAttempts != nil {
		m["retryAttempts"] = *c.RetryAttempts
	}
	return m
}
