package real

import (
	"errors"
	"strconv"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// Read implements [scenario.Client].
func (c *client) Read(token uint64) (value int, ok bool) {
	if !c.setup.Fenced {
		value, err := c.counter.Get(c.ctx, c.environment.name).Int()
		if err != nil {
			c.fail(err)
		}
		return value, true
	}
	text, ok := c.underFence(token, "reading is refused", func(g *redisfence.Guard) (any, error) {
		return g.Get(c.ctx, c.environment.name)
	})
	if !ok {
		return 0, false
	}
	return c.parseNumber(text), true
}

// Write implements [scenario.Client].
func (c *client) Write(token uint64, value int) (ok bool) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	var was any
	if !c.setup.Fenced {
		var err error
		if was, err = c.counter.Do(c.ctx, "SET", c.environment.name, value, "GET").Result(); err != nil {
			c.fail(err)
		}
	} else if was, ok = c.underFence(token, "write is refused", func(g *redisfence.Guard) (any, error) {
		return g.Do(c.ctx, "SET", c.environment.name, value, "GET")
	}); !ok {
		return false
	}
	c.recorder.NoteWrite(c.name, c.parseNumber(was), value)
	return true
}

// underFence raises the mark of the counter to the token, and then calls do. It reports false if the token is refused.
func (c *client) underFence(
	token uint64, refusal string, do func(*redisfence.Guard) (any, error),
) (answer any, ok bool) {
	g, err := redisfence.Raise(c.ctx, c.counter, redisfence.Beside(c.environment.name), token)
	if err == nil {
		answer, err = do(g)
	}
	if stale, refused := errors.AsType[*fence.StaleError](err); refused {
		c.recorder.NoteRefusal(c.name, refusal, token, stale.Have)
		return nil, false
	}
	if err != nil {
		c.fail(err)
	}
	return answer, true
}

// parseNumber parses an answer of the counter.
func (c *client) parseNumber(answer any) int {
	text, _ := answer.(string)
	n, err := strconv.Atoi(text)
	if err != nil {
		c.fail(err)
	}
	return n
}
