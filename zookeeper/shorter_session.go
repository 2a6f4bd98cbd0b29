package zookeeper

import "time"

// shorterSession is the search for another server after one has made the session shorter, as a server with a smaller
// maxSessionTimeout does. Leases of the session are not safe on such a server: if the client is cut off there, the
// session ends before they do.
//
// The leader counts the shorter time from when that server accepts the client. The next server with the longer timeout
// corrects it. So the search is short: a quarter of the shorter timeout, and the rest of the round through all servers,
// which takes no more than half of it even if they are all silent. Then the client continues with the shorter session,
// which loses nothing as long as the client stays connected, and callers get errShorter.
type shorterSession struct {
	searchUntil time.Time     // until when servers are skipped; zero if there is no search
	endsAt      time.Time     // when the shorter session has ended in any case
	perServer   time.Duration // until then, the limit for dialing a server, and again for its handshake
}

// shouldSkipServer reports whether the client should leave a server, since it has made the session shorter.
func (c *client) shouldSkipServer(cn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.session == 0 || cn.session != c.session || cn.timeout >= c.timeout || len(c.servers) == 1 {
		return false
	}
	if c.shorter.searchUntil.IsZero() {
		now := time.Now()
		c.shorter = shorterSession{
			searchUntil: now.Add(cn.timeout / 4),
			endsAt:      now.Add(cn.timeout),
			perServer:   cn.timeout / 4 / time.Duration(len(c.servers)),
		}
	}
	return time.Now().Before(c.shorter.searchUntil)
}

// serverTimeout returns how long to wait for a server: otherwise, or less during a search.
func (c *client) serverTimeout(otherwise time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.shorter.endsAt) {
		return min(otherwise, c.shorter.perServer)
	}
	return otherwise
}
