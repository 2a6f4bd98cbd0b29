package zookeeper

import "time"

// detour is a search for a server that does not make the session shorter, as one with a smaller maxSessionTimeout does. The leases of the session have
// no cover on such a server: if the client is cut off there, the session ends before them.
//
// The leader counts the shorter time from the moment in which that server takes the client in. The next server that does sets it right. So the search
// is short: a quarter of the shorter time, and the rest of the round of all servers, which is no more than half of it, however silent they are. Then
// the client goes on with the shorter session, which has lost nothing as long as it is kept up, and callers are told errShorter.
type detour struct {
	end  time.Time     // until when servers are left; zero if there is no search
	over time.Time     // when the shorter session has ended in any case
	each time.Duration // how long a server may take until then to be reached, and as long again to let the client in
}

// passesBy reports whether the client is to leave a server that has made the session shorter.
func (c *client) passesBy(l *line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.session == 0 || l.session != c.session || l.timeout >= c.timeout || len(c.servers) == 1 {
		return false
	}
	if c.detour.end.IsZero() {
		now := time.Now()
		c.detour = detour{now.Add(l.timeout / 4), now.Add(l.timeout), l.timeout / 4 / time.Duration(len(c.servers))}
	}
	return time.Now().Before(c.detour.end)
}

// patience is for how long to wait for a server, if that may be so long otherwise.
func (c *client) patience(otherwise time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.detour.over) {
		return min(otherwise, c.detour.each)
	}
	return otherwise
}
