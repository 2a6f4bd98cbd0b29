package lib

// Redis are the libraries on one Redis server. What is compared with the most care comes one right after the other.
var Redis = []Library{Floor, Leasehold, FloorAuto, LeaseholdAuto, Redsync, Redislock, Rueidislock}

// Waiting are those that can wait for a lock.
var Waiting = []Library{Leasehold, Redsync, Redislock, Rueidislock}

// Renewing are those that renew what is held by themselves.
var Renewing = []Library{Leasehold, Rueidislock}
