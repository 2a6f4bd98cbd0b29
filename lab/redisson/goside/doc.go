// Package goside is the twin in Go of the Java program of package javaside: a process of its own, which can be killed
// and frozen, and which is called in the same way. [Start] runs the test's binary once more, and [Main] serves there.
//
//	golang := goside.Start(t)
//	golang.MustOpen("a", javaside.Single(server.URL()))
//	held, err := golang.Call(ctx, javaside.Call{Client: "a", Thread: "t1", Op: "lock.tryLock", Name: "order:1001"})
//
// The kinds are lock, fenced, spin, fair, read and write, semaphore, permits, latch, multi and red. Their methods have
// Redisson's names, and some of its forms. What Redisson has no method for: "lost" of a lock returns when the lock is
// lost, and "trySetPermits" of permits says which size the semaphore has for this client.
package goside
