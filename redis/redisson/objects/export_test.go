package objects

// FairClients returns how many clients of the library there are for fair locks.
func FairClients(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ofFair)
}
