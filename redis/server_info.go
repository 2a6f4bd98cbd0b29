package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// Server is what a server says of itself.
type Server struct {
	// RunID changes with each start.
	RunID string
	// Version is "7.0.15", or "Valkey 8.1.8".
	Version string
	// Replica is set if the server follows a master.
	Replica bool
	// Cluster is set if the server is part of a Cluster.
	Cluster bool
	// List is the word in the server's marker that says with which servers it is used, "-" if with none. It is read
	// only by an engine with the guard that is one of several (see [Engine.Among]), and only from a master outside a
	// Cluster. It is empty otherwise.
	List string
}

// Server asks the server what it is. It is for engines on one server; in a Cluster any node answers.
func (e *Engine) Server(ctx context.Context) (Server, error) {
	if e.subscriptions.IsClosed() {
		return Server{}, errEngineClosed
	}
	return detach.Do(ctx, &e.workers, e.askServerInfo, nil)
}

func (e *Engine) askServerInfo(ctx context.Context) (Server, error) {
	info, err := askInfo(ctx, e.client)
	list := ""
	if err == nil && e.nodeList != nil && e.guard && !info.isReplica && !info.isCluster() {
		list, err = e.readListHash(ctx, e.client)
	}
	return Server{
		RunID:   info.runID,
		Version: info.displayVersion(),
		Replica: info.isReplica,
		Cluster: info.isCluster(),
		List:    list,
	}, reply.NoEffect(err)
}

// serverInfo is what a server says of itself.
type serverInfo struct {
	// formerReplID is the id of the replication in which it took part before its promotion.
	runID, formerReplID string
	version             string // of Redis; Valkey gives a version with which it is compatible
	valkey              string // the version of Valkey, or empty
	mode                string
	isReplica           bool
	uptime              time.Duration
}

// minVersion is the first major version that has all that the scripts use: PEXPIRE GT, and sharded messages.
const minVersion = 7

// askInfo asks a server what it is.
func askInfo(ctx context.Context, c interface {
	Info(ctx context.Context, sections ...string) *redis.StringCmd
}) (info serverInfo, err error) {
	text, err := c.Info(ctx, "server", "replication").Result()
	if err != nil {
		return info, explainError(err)
	}
	info = readInfo(text)
	switch {
	case info.runID == "":
		return info, driver.Permanent(fmt.Errorf("redis: INFO says no run_id: %w", errReply))
	case info.isTooOld():
		return info, driver.Permanent(fmt.Errorf("redis: the server has version %s: it must be %d.0 or later",
			info.displayVersion(), minVersion))
	case !info.isModeKnown():
		return info, info.modeError()
	case info.mode == modeSentinel:
		return info, driver.Permanent(fmt.Errorf("redis: the address is that of a Sentinel: " +
			"use NewFailoverClient, or a redis+sentinel: URL"))
	}
	return info, nil
}

// readInfo reads the reply of INFO.
func readInfo(text string) (info serverInfo) {
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "run_id":
			info.runID = value
		case "redis_version":
			info.version = value
		case "role":
			info.isReplica = value == "slave"
		case "valkey_version":
			info.valkey = value
		case "redis_mode", "server_mode":
			info.addMode(value)
		case "master_replid2":
			info.formerReplID = strings.Trim(value, "0")
		case "uptime_in_seconds":
			seconds, err := strconv.Atoi(value)
			if err != nil {
				seconds = -1
			}
			if seconds > 0 {
				seconds-- // both times are cut to whole seconds, so the difference may be nearly one too large
			}
			info.uptime = time.Duration(seconds) * time.Second
		}
	}
	return info
}

// isTooOld reports whether the server lacks something that the scripts use.
func (info serverInfo) isTooOld() bool {
	major, _, _ := strings.Cut(info.version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < minVersion
}

// identity names one life of the server as a master. The run id changes with each start. A process that is promoted a
// second time has another replication history than the first time.
func (info serverInfo) identity() string {
	if info.formerReplID == "" {
		return info.runID
	}
	return info.runID + "-" + info.formerReplID
}

// The modes of a server. INFO calls the field redis_mode, or server_mode on Valkey 8 and later.
const (
	modeStandalone = "standalone"
	modeCluster    = "cluster"
	modeSentinel   = "sentinel"
)

// isCluster reports whether the server is part of a Cluster.
func (info serverInfo) isCluster() bool { return info.mode == modeCluster }

// isModeKnown reports whether the server says what it is. No mode is assumed otherwise: if a node of a Cluster were
// taken for a single server, the engine would ask on the wrong connection how many replicas have confirmed, and the
// node would have a vote of its own.
func (info serverInfo) isModeKnown() bool {
	switch info.mode {
	case modeStandalone, modeCluster, modeSentinel:
		return true
	}
	return false
}

// modeError returns the error for a server whose mode is not known.
func (info serverInfo) modeError() error {
	said := "neither redis_mode nor server_mode"
	if info.mode != "" {
		said = fmt.Sprintf("the mode %q", info.mode)
	}
	return driver.Permanent(fmt.Errorf("redis: INFO says %s, "+
		"so it is not known whether the server is part of a Cluster: "+
		"connect to the server itself, a Redis or Valkey that is %s or %s", said, modeStandalone, modeCluster))
}

// addMode notes a mode. Two different ones make an unknown mode.
func (info *serverInfo) addMode(mode string) {
	if info.mode != "" && info.mode != mode {
		mode = info.mode + " and " + mode
	}
	info.mode = mode
}

// displayVersion returns the version as users know it. Valkey also names a compatible version of Redis, which stays the
// same while its own changes.
func (info serverInfo) displayVersion() string {
	if info.valkey != "" {
		return "Valkey " + info.valkey
	}
	return info.version
}
