package redis

import "github.com/leasehold-go/leasehold/driver"

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
