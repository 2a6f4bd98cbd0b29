package redisson_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestContractOnOneServer(t *testing.T) {
	t.Parallel()
	suite(t, standalone(redisserver.ForTest(t, redisserver.Config{})), nil)
}

func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	suite(t, cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})), inTwoSlots)
}
