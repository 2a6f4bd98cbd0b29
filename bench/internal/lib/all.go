package lib

import "slices"

// Redis are the libraries on one Redis server. What is compared with the most care comes one right after the other.
var Redis = []Library{Floor, Leasehold, FloorAuto, LeaseholdAuto, Redsync, Redislock, Rueidislock, RedsyncAuto, RedislockAuto, RueidislockDelay}

// Waiting are those that can wait for a lock, and one on another kind of server that stands beside them.
var Waiting = []Library{Leasehold, Redsync, Redislock, Rueidislock, Etcd}

// WaitingOnRedis are those of them that wait in Redis.
var WaitingOnRedis = []Library{Leasehold, Redsync, Redislock, Rueidislock}

// Renewing are those that renew what is held by themselves, lease by lease.
var Renewing = []Library{Leasehold, Rueidislock}

// Listing are those that tell what is locked.
var Listing = []Library{Leasehold}

// Five are those on five nodes. Another one is a file with a Library that opens a session on all of At.Addrs, and an entry here.
var Five = []Library{FloorFive, LeaseholdFive, LeaseholdFiveAuto, RedsyncFive, RedsyncFast}

// WaitingOnFive are those of them that are compared at waiting.
var WaitingOnFive = []Library{LeaseholdFive, RedsyncFive}

// Postgres are those on one PostgreSQL server.
var Postgres = []Library{LeaseholdPostgres, Advisory, FloorPostgres, Pglock}

// WaitingOnPostgres are those of them that can wait for a lock without polling.
var WaitingOnPostgres = []Library{LeaseholdPostgres, Advisory}

// OnEtcd are those on one etcd server.
var OnEtcd = []Library{LeaseholdEtcd, Etcd}

// ZooKeeper are those on one ZooKeeper server.
var ZooKeeper = []Library{LeaseholdZooKeeper, ZKRecipe}

// All are all of them.
var All = slices.Concat(Redis, Five, Postgres, OnEtcd, ZooKeeper)
