package redis

import (
	"sync/atomic"

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

var _ driver.Router = (*Engine)(nil)

// Route implements [driver.Router]: the masters of a Cluster are numbered from 1, in the order in which this engine
// first used them. The number of an unknown server is 0.
func (e *Engine) Route(k driver.Key) uint32 {
	if !e.router.isCluster() {
		return 0
	}
	if srv := e.router.cachedServer(e.names(k)); srv != nil {
		return srv.number
	}
	return 0
}
