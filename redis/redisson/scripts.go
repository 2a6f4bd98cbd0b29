package redisson

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// The scripts do what Redisson's own do to the same keys. docs/redisson.md lists where they differ on purpose.
var (
	//go:embed scripts/lock_take.lua
	lockTakeText string
	//go:embed scripts/lock_release.lua
	lockReleaseText string
	//go:embed scripts/lock_renew.lua
	lockRenewText string
	//go:embed scripts/lock_force.lua
	lockForceText string
	//go:embed scripts/leak_mark.lua
	leakMarkText string
	//go:embed scripts/lock_status.lua
	lockStatusText string

	//go:embed scripts/latch.lua
	latchText string
	//go:embed scripts/latch_set.lua
	latchSetText string
	//go:embed scripts/latch_down.lua
	latchDownText string
	//go:embed scripts/latch_status.lua
	latchStatusText string
	//go:embed scripts/permits.lua
	permitsText string
	//go:embed scripts/permits_take.lua
	permitsTakeText string
	//go:embed scripts/permits_release.lua
	permitsReleaseText string
	//go:embed scripts/permits_renew.lua
	permitsRenewText string
	//go:embed scripts/permits_force.lua
	permitsForceText string
	//go:embed scripts/permits_status.lua
	permitsStatusText string

	//go:embed scripts/rw_common.lua
	readWriteText string
	//go:embed scripts/rw_take.lua
	readWriteTakeText string
	//go:embed scripts/rw_release.lua
	readWriteReleaseText string
	//go:embed scripts/rw_renew.lua
	readWriteRenewText string
	//go:embed scripts/rw_downgrade.lua
	readWriteDowngradeText string
	//go:embed scripts/rw_force.lua
	readWriteForceText string
	//go:embed scripts/rw_status.lua
	readWriteStatusText string

	readWriteTake      = redis.NewScript(readWriteText + readWriteTakeText)
	readWriteRelease   = redis.NewScript(readWriteText + readWriteReleaseText)
	readWriteRenew     = redis.NewScript(readWriteText + readWriteRenewText)
	readWriteDowngrade = redis.NewScript(readWriteText + readWriteDowngradeText)
	readWriteForce     = redis.NewScript(readWriteText + readWriteForceText)
	readWriteStatus    = redis.NewScript(readWriteText + readWriteStatusText)

	//go:embed scripts/fair_common.lua
	fairText string
	//go:embed scripts/fair_take.lua
	fairTakeText string
	//go:embed scripts/fair_release.lua
	fairReleaseText string
	//go:embed scripts/fair_force.lua
	fairForceText string
	//go:embed scripts/fair_status.lua
	fairStatusText string

	fairTake    = redis.NewScript(fairText + fairTakeText)
	fairRelease = redis.NewScript(fairText + fairReleaseText)
	fairForce   = redis.NewScript(fairText + fairForceText)
	fairStatus  = redis.NewScript(fairText + fairStatusText)

	lockTake    = redis.NewScript(lockTakeText)
	lockRelease = redis.NewScript(lockReleaseText)
	lockRenew   = redis.NewScript(lockRenewText)
	lockForce   = redis.NewScript(lockForceText)
	lockStatus  = redis.NewScript(lockStatusText)

	latchSet    = redis.NewScript(latchText + latchSetText)
	latchDown   = redis.NewScript(latchText + latchDownText)
	latchStatus = redis.NewScript(latchText + latchStatusText)

	permitsTake    = redis.NewScript(permitsText + permitsTakeText)
	permitsRelease = redis.NewScript(permitsText + permitsReleaseText)
	permitsRenew   = redis.NewScript(permitsText + permitsRenewText)
	permitsForce   = redis.NewScript(permitsText + permitsForceText)
	permitsStatus  = redis.NewScript(permitsText + permitsStatusText)
)
