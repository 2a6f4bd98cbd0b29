package redisson_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

func TestContractOnOneServer(t *testing.T) {
	t.Parallel()
	suite(t, standalone(redisserver.ForTest(t, redisserver.Config{})), nil)
}

func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	suite(t, cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})), inTwoSlots)
}

// readWrite are the options of the suite for ReadWrite.
var readWrite = []redisson.Option{
	redisson.WithLock(redisson.ReadWrite),
	redisson.WithJavaWatchdogTimeout(10 * time.Minute), // what the suite takes for long
}

func TestReadWriteContractOnOneServer(t *testing.T) {
	t.Parallel()
	suite(t, standalone(redisserver.ForTest(t, redisserver.Config{})), nil, readWrite...)
}

var fair = redisson.WithLock(redisson.Fair)

func TestFairContractOnOneServer(t *testing.T) {
	t.Parallel()
	suite(t, standalone(redisserver.ForTest(t, redisserver.Config{})), nil, fair)
}
