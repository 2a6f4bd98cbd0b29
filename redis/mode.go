package redis

import (
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

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
