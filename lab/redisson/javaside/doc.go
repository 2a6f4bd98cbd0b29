// Package javaside drives a real Redisson from tests. [Start] starts a Java process; [Program.Open] opens a Redisson
// client in it, and [Program.Call] calls a method of one of its objects in a Java thread that has a name.
//
//	java := javaside.Start(t, javaside.Newest)
//	java.MustOpen("a", javaside.Single(server.URL()))
//	held, err := java.Call(ctx, javaside.Call{Client: "a", Thread: "t1", Op: "lock.tryLock", Name: "order:1001"})
//
// An op is the kind of an object and a method of it. The arguments are those of the method: numbers, strings, lists of
// strings, and [Milliseconds] for a TimeUnit. The kinds are lock, fair, spin, fenced, nonReentrant, nonReentrantFair,
// read and write (the two locks of a read-write lock), semaphore, permits (RPermitExpirableSemaphore), latch, multi
// and red, whose name lists its locks as "CLIENT.KIND.NAME+CLIENT.KIND.NAME", group (a multi-lock in one key, whose
// name is "KEY+VALUE+VALUE"), client (RedissonClient) and keys (RKeys).
package javaside
