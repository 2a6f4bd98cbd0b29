package redisson

// OwnerID is for tests that look at what the server has.
func OwnerID(owner string) string { return ownerID(owner) }
