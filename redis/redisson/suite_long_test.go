//go:build long

package redisson_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestReadWriteContractOnACluster(t *testing.T) {
	t.Parallel()
	suite(t, cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})), inTwoSlots, readWrite...)
}

func TestFairContractOnACluster(t *testing.T) {
	t.Parallel()
	suite(t, cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})), inTwoSlots, fair)
}
