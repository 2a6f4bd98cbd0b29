package redisson

import (
	_ "embed"

	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// The scripts do what Redisson's own do to the same keys. docs/redisson.md lists where they differ on purpose.
var (
	//go:embed scripts/owner.lua
	ownerText string
	//go:embed scripts/tokens.lua
	tokensText string
	//go:embed scripts/publishing.lua
	publishingText string

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

	//go:embed scripts/lock_refusal.lua
	lockRefusalText string

	//go:embed scripts/confirm.lua
	confirmText string

	//go:embed scripts/latch.lua
	latchText string
	//go:embed scripts/latch_set.lua
	latchSetText string
	//go:embed scripts/latch_down.lua
	latchDownText string
	//go:embed scripts/latch_delete.lua
	latchDeleteText string
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
	//go:embed scripts/permits_set.lua
	permitsSetText string
	//go:embed scripts/permits_count.lua
	permitsCountText string
	//go:embed scripts/permits_by_id.lua
	permitsByIDText string
	//go:embed scripts/permits_lease.lua
	permitsLeaseText string

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

	readWriteTake      = luascript.New(ownerText + tokensText + readWriteText + readWriteTakeText)
	readWriteRelease   = luascript.New(ownerText + readWriteText + readWriteReleaseText)
	readWriteRenew     = luascript.New(ownerText + readWriteText + readWriteRenewText)
	readWriteDowngrade = luascript.New(publishingText + ownerText + readWriteText + readWriteDowngradeText)
	readWriteForce     = luascript.New(publishingText + ownerText + readWriteText + readWriteForceText)
	readWriteStatus    = luascript.New(ownerText + readWriteText + readWriteStatusText)

	//go:embed scripts/fair_common.lua
	fairText string
	//go:embed scripts/fair_take.lua
	fairTakeText string
	//go:embed scripts/fair_release.lua
	fairReleaseText string
	//go:embed scripts/fair_renew.lua
	fairRenewText string
	//go:embed scripts/fair_force.lua
	fairForceText string
	//go:embed scripts/fair_dead.lua
	fairDeadText string
	//go:embed scripts/remains.lua
	remainsText string
	//go:embed scripts/fair_status.lua
	fairStatusText string

	fairTake    = luascript.New(ownerText + tokensText + fairText + fairTakeText)
	fairRelease = luascript.New(fairText + fairReleaseText)
	fairRenew   = luascript.New(fairText + fairRenewText)
	fairForce   = luascript.New(publishingText + ownerText + fairText + fairForceText)
	fairDead    = luascript.New(fairText + "local remove = false\n" + fairDeadText)
	fairBury    = luascript.New(fairText + "local remove = true\n" + fairDeadText)
	fairStatus  = luascript.New(fairText + fairStatusText)

	lockTake     = luascript.New(ownerText + tokensText + lockTakeText)
	lockRelease  = luascript.New(lockReleaseText)
	lockRenew    = luascript.New(lockRenewText)
	lockForce    = luascript.New(publishingText + ownerText + lockForceText)
	lockStatus   = luascript.New(lockStatusText)
	remainsFind  = luascript.New(remainsText)
	remainsSweep = luascript.New(remainsText + "-- sweeps")

	lockRefusal = luascript.New(ownerText + lockRefusalText)

	latchSet    = luascript.New(publishingText + latchText + latchSetText)
	latchDown   = luascript.New(publishingText + latchText + latchDownText)
	latchDelete = luascript.New(publishingText + latchText + latchDeleteText)
	latchStatus = luascript.New(latchText + latchStatusText)

	permitsTake    = luascript.New(tokensText + permitsText + permitsTakeText)
	permitsRelease = luascript.New(permitsText + permitsReleaseText)
	permitsRenew   = luascript.New(permitsText + permitsRenewText)
	permitsForce   = luascript.New(publishingText + permitsText + permitsForceText)
	permitsStatus  = luascript.New(permitsText + permitsStatusText)
	permitsSet     = luascript.New(publishingText + permitsText + permitsSetText)
	permitsCount   = luascript.New(publishingText + permitsText + permitsCountText)
	permitsByID    = luascript.New(publishingText + permitsText + permitsByIDText)
	permitsLease   = luascript.New(permitsText + permitsLeaseText)
)
