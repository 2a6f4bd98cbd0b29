package leaseholdotel

// Kept returns how many leases the observer keeps.
func (o *Observer) Kept() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.holds)
}
