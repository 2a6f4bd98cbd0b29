// Package redissonwire plays calls of Redisson's locks from a file, writes down what a Redis server sees of each, and
// compares that with what the file says. A real Redisson and our own clients play the same files, in
// redis/redisson/testdata/wire. They were written by a real Redisson: see lab/redisson.
//
// A file has comments (#), the clients ("open a watchdog=6000"), and parts that begin with "== TITLE". The server is
// empty at the beginning of each part. A part has steps, and below each step what it did:
//
//	> a/t1 lock.tryLock x 0 10000 ms   thread t1 of client a calls a method of an object
//	= true                             what it has returned; or "! CLASS": it has failed
//	c a EVAL [x] [10000 a:t1]          a command of client a: a script with its keys and arguments
//	r exists x                         a command of the script that reads
//	w hincrby x a:t1 1                 a command of the script that writes or publishes
//	m redisson_lock__channel:{x} 0     a message
//	k x hash ttl ~10000 {a:t1: 1}      a key that exists after the step
//
// Other steps:
//
//	> a/t1 lock.lock x &               the call begins, and waits
//	> a/t1 wait                        the call that thread t1 has begun returns
//	> a/t1 interrupt                   the thread is interrupted, or the context of its call is cancelled
//	> id = a/t1 permits.tryAcquire s   the result is $id from now on
//	> sleep 700                        nothing for so many milliseconds
//	> await                            nothing until what is below has happened: such as a renewal
//	> open w watchdog=6000           one more client is open, from the beginning of the part
//	> do SET x y                       a command of somebody else, which is not recorded
//
// Our clients are compared with that in two ways. All that other programs can see of a script are the keys that it
// leaves, with their types, ttl and values, and its messages in their order, as a server runs nothing else meanwhile.
// That is compared after each call, for every object. The commands that write to these keys are compared, too, but for
// a list of deviations. Only those of fair locks are not: to keep waiters in their places, one call in Go writes what
// several calls of Redisson do, so there the effects alone say whether it is right.
//
// What differs from run to run has a fixed form. "a:t1" is the owner of thread t1 of client a, and "a" alone the id of
// the client. "~30000" is a time that is shorter the later it is looked at, or a sum of such times, in milliseconds;
// "now+30000" is a time of the clock. "<permit1>" is the id of a permit, and "<request>" that of a request. Commands
// are in the order of each client; those of different clients are not in order. A script that a client repeats, and
// that changes nothing, is there once: a waiter may look once or twice.
package redissonwire
