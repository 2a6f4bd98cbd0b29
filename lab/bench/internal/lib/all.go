package lib

import "slices"

// Redis lists the libraries on one Redis server. Those that are compared most closely are
// neighbours.
var Redis = []Library{Floor, Leasehold, FloorAuto, LeaseholdAuto, Redsync, Redislock, Rueidislock, RedsyncAuto,
	RedislockAuto, RueidislockDelay}

// Waiting lists the libraries that can wait for a lock, and one on another kind of server for
// comparison.
var Waiting = []Library{Leasehold, Redsync, Redislock, Rueidislock, Etcd}

// WaitingOnRedis lists the libraries of Waiting that use Redis.
var WaitingOnRedis = []Library{Leasehold, Redsync, Redislock, Rueidislock}

// Later lists the libraries whose releases need not be waited for, beside the floor.
var Later = []Library{Floor, LeaseholdLater, Leasehold}

// Again lists the libraries that may keep a released lock, beside the floor.
var Again = []Library{LeaseholdLinger, Leasehold, Floor}

// Sticky lists the libraries that may keep a released lock, beside those that can wait.
var Sticky = []Library{LeaseholdLinger, Leasehold, Redsync, Redislock, Rueidislock}

// Recall lists the libraries that may keep a released lock.
var Recall = []Library{LeaseholdLinger, Leasehold}

// Renewing lists the libraries that renew held locks by themselves, lease by lease.
var Renewing = []Library{Leasehold, Rueidislock}

// Listing lists the libraries that can list locks.
var Listing = []Library{Leasehold}

// Five lists the libraries on five nodes. To add one, write a file with a Library whose sessions
// use all of Config.Addrs, and add it here.
var Five = []Library{FloorFive, LeaseholdFive, LeaseholdFiveAuto, RedsyncFive, RedsyncFast}

// WaitingOnFive lists the libraries of Five whose waiting is compared.
var WaitingOnFive = []Library{LeaseholdFive, RedsyncFive}

// Postgres lists the libraries on one PostgreSQL server.
var Postgres = []Library{LeaseholdPostgres, Advisory, FloorPostgres, Pglock}

// WaitingOnPostgres lists the libraries of Postgres that can wait for a lock without polling.
var WaitingOnPostgres = []Library{LeaseholdPostgres, Advisory}

// OnEtcd lists the libraries on one etcd server.
var OnEtcd = []Library{LeaseholdEtcd, Etcd}

// ZooKeeper lists the libraries on one ZooKeeper server.
var ZooKeeper = []Library{LeaseholdZooKeeper, ZKRecipe}

// RedissonPairs lists libraries that lock as Redisson does, and the floor. Those that use the same object are
// neighbours.
var RedissonPairs = []Library{Floor, RawRLock, RawPlain, JavaRLock, GoPlain, GoObjectsLock,
	RawRFencedLock, RawFenced, JavaRFencedLock, GoFenced, GoObjectsFencedLock}

// RedissonCrowds lists contenders for locks of Redisson in one language, and in both.
var RedissonCrowds = []Library{LocksJava, LocksGo, LocksBoth, FairJava, FairGo, FairBoth}

// All lists all libraries.
var All = slices.Concat(Redis, []Library{LeaseholdLinger, LeaseholdLater}, Five, Postgres, OnEtcd, ZooKeeper,
	RedissonPairs[1:], RedissonCrowds)
