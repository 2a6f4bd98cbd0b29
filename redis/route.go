package redis

import "github.com/leasehold-go/leasehold/driver"

var _ driver.Router = (*Engine)(nil)

// Route implements [driver.Router]: the masters of a Cluster have numbers in the order in which they were met. Whatever is not known has 0.
func (e *Engine) Route(k driver.Key) uint32 {
	if !e.place.clustered() {
		return 0
	}
	if on := e.place.guess(e.names(k)); on != nil {
		return on.number
	}
	return 0
}
