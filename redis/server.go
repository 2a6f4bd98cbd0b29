package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// server is one life of a Redis process as a master: it begins with the start of the process, or with its promotion.
type server struct {
	identity string
	program  *program
	mute     bool   // the user may not send messages there
	loud     bool   // the user may have looks send messages; known where servers are met to look
	number   uint32 // in the order in which servers were met, from 1

	// gate is that of the server, unless it is a master of a Cluster: there each slot has its own.
	gate atomic.Pointer[gate]

	// verified is when the server has last been seen under this identity, in nanoseconds of the engine's life.
	verified atomic.Int64

	// list is the word of its marker that says with which servers it is used (see Among), as it was then.
	list atomic.Pointer[string]
}

// facts are what a server says of itself.
type facts struct {
	runID, former string // former is the id of the replication that it took part in before its promotion
	version       string // of Redis: Valkey says which one it can stand in for
	valkey        string // the version of Valkey, or empty
	mode          string
	replica       bool
	uptime        time.Duration
}

// oldest is the first version that has all that the scripts use: PEXPIRE GT, and sharded messages.
const oldest = 7

// inquire asks a server what it is.
func inquire(ctx context.Context, c interface {
	Info(ctx context.Context, sections ...string) *redis.StringCmd
}) (f facts, err error) {
	text, err := c.Info(ctx, "server", "replication").Result()
	if err != nil {
		return f, explain(err)
	}
	f = readFacts(text)
	switch {
	case f.runID == "":
		return f, driver.Permanent(fmt.Errorf("redis: INFO says no run_id: %w", errReply))
	case f.tooOld():
		return f, driver.Permanent(fmt.Errorf("redis: the server has version %s: it must be %d.0 or later", f.called(), oldest))
	case !f.modeKnown():
		return f, f.errMode()
	case f.mode == modeSentinel:
		return f, driver.Permanent(fmt.Errorf("redis: the address is that of a Sentinel: use NewFailoverClient, or a redis+sentinel: URL"))
	}
	return f, nil
}

// readFacts reads what INFO says.
func readFacts(text string) (f facts) {
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "run_id":
			f.runID = value
		case "redis_version":
			f.version = value
		case "role":
			f.replica = value == "slave"
		case "valkey_version":
			f.valkey = value
		case "redis_mode", "server_mode":
			f.saysMode(value)
		case "master_replid2":
			f.former = strings.Trim(value, "0")
		case "uptime_in_seconds":
			seconds, err := strconv.Atoi(value)
			if err != nil {
				seconds = -1
			}
			if seconds > 0 {
				seconds-- // both ends are cut to whole seconds, so it may be too large by nearly one
			}
			f.uptime = time.Duration(seconds) * time.Second
		}
	}
	return f
}

// tooOld reports whether the server lacks what the scripts use.
func (f facts) tooOld() bool {
	major, _, _ := strings.Cut(f.version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < oldest
}

// identity returns what the life of the server as a master is called. The run id changes with each start. A process that is
// promoted a second time has another history behind it than the first time.
func (f facts) identity() string {
	if f.former == "" {
		return f.runID
	}
	return f.runID + "-" + f.former
}
