package zookeeper

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// spot is a node that is watched, by any number of goroutines. The client has one watch for all of them, and also for those who
// come later, until it fires.
type spot struct {
	fired chan struct{} // closed when something has happened, or may have been missed
	event zk.EventType  // what, once fired; 0 if it is not known
	armed bool          // the server watches
}

// fire tells those who watch a path.
func (c *client) fire(path string, event zk.EventType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.armed, path)
	if s := c.spots[path]; s != nil {
		delete(c.spots, path)
		s.event = event
		close(s.fired)
	}
}

// fireAll tells all who watch that they may have missed something. mu is held.
func (c *client) fireAll() {
	for _, s := range c.spots {
		close(s.fired)
	}
	clear(c.spots)
}

// spotAt returns the spot of a path, and whether the server watches it already.
func (c *client) spotAt(path string) (s *spot, armed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.spots[path]; s == nil {
		s = &spot{fired: make(chan struct{})}
		c.spots[path] = s
	}
	return s, s.armed
}

// arm notes that the server watches, or that it does not.
func (c *client) arm(path string, s *spot, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spots[path] != s {
		return // it has fired meanwhile
	}
	if err == nil {
		s.armed = true
		c.armed[path] = struct{}{}
		return
	}
	if !s.armed {
		delete(c.spots, path)
		close(s.fired) // others may rely on it
	}
}

// watch reads a node, and returns a spot that fires when it changes or goes. A node that does not exist is not watched: it is an ErrNoNode.
func (c *client) watch(ctx context.Context, path string) (data []byte, s *spot, err error) {
	s, armed := c.spotAt(path)
	if armed {
		data, _, err = c.get(ctx, path)
		return data, s, err
	}
	data, _, err = request(ctx, c, func(conn *zk.Conn) ([]byte, error) {
		data, _, _, err := conn.GetW(path)
		c.arm(path, s, err)
		return data, err
	})
	return data, s, err
}

// watchChildren is watch for the children of a node.
func (c *client) watchChildren(ctx context.Context, path string) (names []string, s *spot, err error) {
	s, armed := c.spotAt(path)
	if armed {
		names, err = c.children(ctx, path)
		return names, s, err
	}
	names, _, err = request(ctx, c, func(conn *zk.Conn) ([]string, error) {
		names, _, _, err := conn.ChildrenW(path)
		c.arm(path, s, err)
		return names, err
	})
	return names, s, err
}
