// Package objects has Redisson's locks under their names, for programs in Go that share them with programs in Java.
//
//	r, err := objects.New(rdb) // rdb is a client of go-redis
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//
//	lock := r.Lock("orders") // as redisson.getLock("orders") in Java
//	if err := lock.Lock(ctx); err != nil {
//		return err
//	}
//	defer lock.Unlock()
//
//	// Do the work with lock.Context(): it is cancelled the moment the lock is lost.
//
// A value such as lock stands for one thread of Redisson: what it holds, it may lock again. Goroutines that exclude
// each other need one each. What Redisson's locks promise, and how these differ from those in Java, is on the page
// docs/redisson.md of the project.
//
// A program that has no locks to share with Java does not need this package, nor package redisson: on the engine of
// package redis, locks are fair, are handed over directly, and survive a failover of the server.
package objects
