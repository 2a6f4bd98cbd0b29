package redis_test

import (
	"fmt"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// tagOn returns the beginning of names that a node keeps, in a Cluster that was started with 3 masters.
func tagOn(node int) string {
	const masters = 3
	first, end := node*redisserver.Slots/masters, (node+1)*redisserver.Slots/masters
	for i := 0; ; i++ {
		tag := fmt.Sprintf("{%d}", i)
		if slot := redisserver.Slot(redis.DefaultPrefix + tag); first <= slot && slot < end {
			return tag
		}
	}
}
