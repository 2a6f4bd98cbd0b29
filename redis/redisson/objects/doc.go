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
//	lock(), lockInterruptibly()                        Lock(ctx)
//	lock(lease, unit)                                  Lock(ctx, LeaseTime(d))
//	tryLock()                                          TryLock(ctx)
//	tryLock(wait, lease, unit)                         TryLock(ctx, WaitTime(w), LeaseTime(d))
//	lockAndGetToken()                                  Lock(ctx), and then Token()
//	isLocked(), remainTimeToLive()                     IsLocked(ctx), RemainingTime(ctx)
//	isHeldByCurrentThread(), getHoldCount()            HoldCount()
//	forceUnlock()                                      ForceUnlock(ctx)
//	acquire(), release(id) of permits with leases      Acquire(ctx, 1), and Release of the lease that it returns
//	await(time, unit) of a latch                       Await(ctx), with a deadline
//	lockAsync() and the like                           the same methods, in a goroutine
//	IllegalMonitorStateException                       ErrNotHeld
//	Config.lockWatchdogTimeout, NameMapper             WithWatchdogTimeout, WithPrefix
//
// A ctx that ends also ends the wait: a deadline is as good as a wait time.
//
// # Errors
//
// Unless said otherwise, an error is a *[leasehold.Error], and matches leasehold.ErrUnavailable if the server did not
// answer, or refused; leasehold.ErrInvalid if a name or a value is not allowed; leasehold.ErrClosed after Close; or the
// error of ctx. That somebody else holds a lock is an error of no TryLock.
//
// What the locks promise, and how they differ from those in Java, is on the page docs/redisson.md of the project.
//
// A program that has no locks to share with Java does not need this package, nor package redisson: on the engine of
// package redis, locks are fair, are handed over directly, and survive a failover of the server.
package objects
