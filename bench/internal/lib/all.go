package lib

// Redis are the libraries on one Redis server, and those on another kind of server that stand beside them. What is compared with the
// most care comes one right after the other.
var Redis = []Library{Floor, Leasehold, FloorAuto, LeaseholdAuto, Redsync, Redislock, Rueidislock, RedsyncAuto, RedislockAuto, RueidislockDelay, Etcd}

// Waiting are those that can wait for a lock.
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

// All are all of them.
var All = append(Redis[:len(Redis):len(Redis)], Five...)
