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
	//go:embed scripts/lock_status.lua
	lockStatusText string

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

	lockTake    = redis.NewScript(lockTakeText)
	lockRelease = redis.NewScript(lockReleaseText)
	lockRenew   = redis.NewScript(lockRenewText)
	lockForce   = redis.NewScript(lockForceText)
	lockStatus  = redis.NewScript(lockStatusText)

	permitsTake    = redis.NewScript(permitsText + permitsTakeText)
	permitsRelease = redis.NewScript(permitsText + permitsReleaseText)
	permitsRenew   = redis.NewScript(permitsText + permitsRenewText)
	permitsForce   = redis.NewScript(permitsText + permitsForceText)
	permitsStatus  = redis.NewScript(permitsText + permitsStatusText)
)
