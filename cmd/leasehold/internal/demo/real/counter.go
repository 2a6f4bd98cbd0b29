package real

import (
	"errors"
	"strconv"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// Read implements [stage.Client].
func (c *client) Read(token uint64) (value int, ok bool) {
	if !c.setup.Fenced {
		value, err := c.counter.Get(c.ctx, c.world.name).Int()
		if err != nil {
			c.fail(err)
		}
		return value, true
	}
	text, ok := c.guarded(token, "reading is refused", func(g *redisfence.Guard) (any, error) { return g.Get(c.ctx, c.world.name) })
	if !ok {
		return 0, false
	}
	return c.number(text), true
}

// Write implements [stage.Client].
func (c *client) Write(token uint64, value int) (ok bool) {
	c.writes.Lock()
	defer c.writes.Unlock()
	var was any
	if !c.setup.Fenced {
		var err error
		if was, err = c.counter.Do(c.ctx, "SET", c.world.name, value, "GET").Result(); err != nil {
			c.fail(err)
		}
	} else if was, ok = c.guarded(token, "write is refused", func(g *redisfence.Guard) (any, error) {
		return g.Do(c.ctx, "SET", c.world.name, value, "GET")
	}); !ok {
		return false
	}
	c.tape.Wrote(c.name, c.number(was), value)
	return true
}

// guarded raises the mark of the counter to the token, and then does something. It reports false if the token is refused.
func (c *client) guarded(token uint64, refusal string, do func(*redisfence.Guard) (any, error)) (answer any, ok bool) {
	g, err := redisfence.Raise(c.ctx, c.counter, redisfence.Beside(c.world.name), token)
	if err == nil {
		answer, err = do(g)
	}
	if stale, refused := errors.AsType[*fence.StaleError](err); refused {
		c.tape.Refuse(c.name, refusal, token, stale.Have)
		return nil, false
	}
	if err != nil {
		c.fail(err)
	}
	return answer, true
}

// number reads what the counter has answered.
func (c *client) number(answer any) int {
	text, _ := answer.(string)
	n, err := strconv.Atoi(text)
	if err != nil {
		c.fail(err)
	}
	return n
}
