package fence

// Waiting returns how many names a gate keeps in memory.
func Waiting(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.names)
}
