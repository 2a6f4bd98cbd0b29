package redis

import (
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

// The modes that a server can be in. INFO calls that redis_mode, and server_mode on Valkey 8 and later.
const (
	modeAlone    = "standalone"
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// cluster reports whether the server is part of a Cluster.
func (f facts) cluster() bool { return f.mode == modeCluster }

// modeKnown reports whether the server says what it is. Nothing is assumed of one that does not: a node of a Cluster that is taken for a single server
// would be asked on the wrong connection how many replicas have confirmed, and would have a vote of its own.
func (f facts) modeKnown() bool {
	switch f.mode {
	case modeAlone, modeCluster, modeSentinel:
		return true
	}
	return false
}

// errMode is the error of a server whose mode is not known.
func (f facts) errMode() error {
	said := "neither redis_mode nor server_mode"
	if f.mode != "" {
		said = fmt.Sprintf("the mode %q", f.mode)
	}
	return driver.Permanent(fmt.Errorf("redis: INFO says %s, so it is not known whether the server is part of a Cluster: connect to the server "+
		"itself, a Redis or Valkey that is %s or %s", said, modeAlone, modeCluster))
}

// saysMode notes the mode. Two fields that differ make one that is not known.
func (f *facts) saysMode(mode string) {
	if f.mode != "" && f.mode != mode {
		mode = f.mode + " and " + mode
	}
	f.mode = mode
}

// called is the version as people know it. Valkey also says which version of Redis it can stand in for, which stays the same over its own.
func (f facts) called() string {
	if f.valkey != "" {
		return "Valkey " + f.valkey
	}
	return f.version
}
