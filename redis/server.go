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

// server is one life of a Redis process as a master: it begins when the process is started or promoted.
type server struct {
	identity        string
	scripts         *scriptSet
	cannotPublish   bool   // the user may not publish messages there
	readsMayPublish bool   // reads may publish messages; known in the read router only
	number          uint32 // in the order in which servers were first used, from 1

	// marker is the last reading of the server's marker. In a Cluster each slot has a marker of its own.
	marker atomic.Pointer[markerState]

	// verifiedAt is when the server last had this identity, in nanoseconds of the engine's life.
	verifiedAt atomic.Int64

	// listHash is the word in the marker that says with which servers it is used, as of verifiedAt. See Among.
	listHash atomic.Pointer[string]
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
