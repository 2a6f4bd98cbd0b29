package zookeeper

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// watch is a node that is watched, by any number of goroutines. The library has one watch for all of them, including
// those that come later, until it fires.
type watch struct {
	fired chan struct{} // closed when the node has changed, or a change may have been missed
	event zk.EventType  // what has happened, once fired; 0 if it is not known
	set   bool          // the server has the watch
}

// notify tells all who watch a path of an event.
func (c *client) notify(path string, event zk.EventType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchedPaths, path)
	if w := c.watches[path]; w != nil {
		delete(c.watches, path)
		w.event = event
		close(w.fired)
	}
}

// notifyAllLocked tells all who watch that they may have missed something. mu must be held.
func (c *client) notifyAllLocked() {
	for _, w := range c.watches {
		close(w.fired)
	}
	clear(c.watches)
}

// watchAt returns the watch of a path, and whether the server already has it.
func (c *client) watchAt(path string) (w *watch, isSet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w = c.watches[path]; w == nil {
		w = &watch{fired: make(chan struct{})}
		c.watches[path] = w
	}
	return w, w.set
}

// noteWatchSet notes that the server has a watch, or that it could not be set.
func (c *client) noteWatchSet(path string, w *watch, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[path] != w {
		return // it has fired meanwhile
	}
	if err == nil {
		w.set = true
		c.watchedPaths[path] = struct{}{}
		return
	}
	if !w.set {
		delete(c.watches, path)
		close(w.fired) // others may rely on it
	}
}

// watch reads a node, and returns a watch that fires when the node changes or goes. If there is no such node, nothing
// is watched, and the error is ErrNoNode.
func (c *client) watch(ctx context.Context, path string) (data []byte, w *watch, err error) {
	w, isSet := c.watchAt(path)
	if isSet {
		data, _, err = c.get(ctx, path)
		return data, w, err
	}
	data, _, err = request(ctx, c, func(conn *zk.Conn) ([]byte, error) {
		data, _, _, err := conn.GetW(path)
		c.noteWatchSet(path, w, err)
		return data, err
	})
	return data, w, err
}

// watchChildren is watch for the children of a node.
func (c *client) watchChildren(ctx context.Context, path string) (names []string, w *watch, err error) {
	w, isSet := c.watchAt(path)
	if isSet {
		names, err = c.children(ctx, path)
		return names, w, err
	}
	names, _, err = request(ctx, c, func(conn *zk.Conn) ([]string, error) {
		names, _, _, err := conn.ChildrenW(path)
		c.noteWatchSet(path, w, err)
		return names, err
	})
	return names, w, err
}
