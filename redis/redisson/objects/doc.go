// Package objects has Redisson's locks under their names, for programs in Go that share them with programs in Java.
//
//	import (
//		goredis "github.com/redis/go-redis/v9"
//
//		"github.com/leasehold-go/leasehold/redis/redisson/objects"
//	)
//
//	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
//	defer rdb.Close()
//	r, err := objects.New(rdb)
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//
//	lock := r.Lock("orders") // redisson.getLock("orders") in Java
//	if err := lock.Lock(ctx); err != nil {
//		return err
//	}
//	defer lock.Unlock()
//
//	// Do the work with lock.Context(): it is cancelled the moment the lock is lost.
//
// # Threads
//
// A value such as lock stands for one thread of Redisson: what it holds, it may lock again. Goroutines that exclude
// each other need one each, as threads of Java do. A value costs little, and needs no Close.
//
// # From Java to Go
//
//	getLock, getFencedLock, getSpinLock, getFairLock   Client.Lock, FencedLock, SpinLock, FairLock
//	getReadWriteLock, readLock, writeLock              Client.ReadWriteLock, ReadLock, WriteLock
//	getMultiLock, RedissonRedLock                      NewMultiLock, NewRedLock
//	getSemaphore, getPermitExpirableSemaphore          Client.Semaphore, PermitExpirableSemaphore
//	getCountDownLatch                                  Client.CountDownLatch
//	Redisson.create(config), shutdown()                New(a client of go-redis), Close()
//	lock(), lockInterruptibly()                        Lock(ctx)
//	lock(lease, unit)                                  Lock(ctx, LeaseTime(d)); without it if the lease is -1
//	tryLock()                                          TryLock(ctx)
//	tryLock(wait, lease, unit)                         TryLock(ctx, WaitTime(w), LeaseTime(d))
//	lockAndGetToken(), tryLockAndGetToken()            Lock(ctx) or TryLock(ctx), and then Token()
//	isLocked(), remainTimeToLive()                     IsLocked(ctx), RemainingTime(ctx)
//	isHeldByCurrentThread(), getHoldCount()            HoldCount()
//	forceUnlock()                                      ForceUnlock(ctx)
//	tryAcquire(n, wait, unit) of a semaphore           Acquire(ctx, n), with a deadline
//	acquire(), release(id) of permits with leases      Acquire(ctx, 1), and Release of the lease that it returns
//	updateLeaseTime(id, lease, unit)                   Extend(ctx, d) of that lease, which never shortens it
//	tryRelease(id), updateLeaseTime of any permit      TryReleaseID(ctx, id), UpdateLeaseTime(ctx, id, d)
//	getLeaseTime(id) of any permit                     LeaseTime(ctx, id)
//	trySetPermits, setPermits, addPermits              TrySetPermits, SetPermits, AddPermits
//	trySetPermits(n, ttl) of an RSemaphore             TrySetPermitsFor(ctx, n, d)
//	availablePermits, acquiredPermits, getPermits      AvailablePermits, AcquiredPermits, Permits
//	getCount() of a latch                              Count(ctx)
//	await(time, unit) of a latch                       Await(ctx), with a deadline
//	lockAsync() and the like                           the same methods, in a goroutine
//	IllegalMonitorStateException                       ErrNotHeld
//	Config.lockWatchdogTimeout, NameMapper             WithWatchdogTimeout, WithPrefix
//
// Give a lock the ctx of the work under it: that is what [Lock.Context] comes from. A ctx that ends also ends a wait.
// To limit only the wait, use WaitTime. What is held stays held when ctx ends, until Unlock.
//
// # Errors
//
// Errors are a *[leasehold.Error] or a *[leasehold.ValueError]. Use errors.Is with these of package leasehold:
//
//	ErrUnavailable            the server did not answer, or refused
//	ErrInvalid                a name or a value is not allowed
//	ErrTimeout                WaitTime has ended a Lock
//	ErrUpgrade                a reader locks for writing
//	ErrClosed                 Close was called
//	the error of ctx          ctx has ended; a deadline is also an ErrUnavailable if the server has not answered
//
// Unlock returns [ErrNotHeld], and says why. TryLock of a lock that somebody else holds returns false, and no error;
// TryAcquire of permits with leases returns leasehold.ErrHeld, as all semaphores of the library do.
//
// What the locks promise, and how they differ from those in Java, is on the page docs/redisson.md of the project.
//
// A program that has no locks to share with Java does not need this package, nor package redisson: on the engine of
// package redis, locks are fair, are handed over directly, and survive a failover of the server.
package objects
