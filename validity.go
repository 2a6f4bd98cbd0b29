package leasehold

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// validity says until when a lease may be relied on.
type validity struct {
	start       driver.Instant // before the request was sent that granted or extended the lease
	length      time.Duration  // from start
	tenureStart driver.Instant // when the holder got the lease
	maxHold     time.Duration  // from tenureStart; 0 is no limit
}

// validFor is how long after its start a lease may be relied on.
func validFor(ttl time.Duration) time.Duration { return ttl - driver.Drift(ttl) }

func (v *validity) remaining(now driver.Instant) time.Duration {
	left := v.length - now.Since(v.start)
	if v.maxHold > 0 {
		left = min(left, v.maxHold-now.Since(v.tenureStart))
	}
	return left
}

func (v *validity) deadline() time.Time {
	deadline := v.start.Add(v.length).Time()
	if v.maxHold > 0 {
		if limit := v.tenureStart.Add(v.maxHold).Time(); limit.Before(deadline) {
			return limit
		}
	}
	return deadline
}

// extend makes the lease last for ttl from sent, unless it lasts longer already.
func (v *validity) extend(sent driver.Instant, ttl time.Duration) {
	if sent.Since(v.start)+validFor(ttl) > v.length {
		v.start, v.length = sent, validFor(ttl)
	}
}
