package virtual

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/fence"
)

// counter is what clients write to.
type counter struct {
	value int
	marks fence.Memory
}

// Read implements [stage.Client].
func (c *client) Read(token uint64) (value int, ok bool) {
	c.hop()
	defer c.hop()
	if !c.admitted(token, "reading is refused") {
		return 0, false
	}
	return c.counter.value, true
}

// Write implements [stage.Client].
func (c *client) Write(token uint64, value int) (ok bool) {
	c.hop()
	defer c.hop()
	if !c.admitted(token, "write is refused") {
		return false
	}
	c.tape.Wrote(c.name, c.counter.value, value)
	c.counter.value = value
	return true
}

// admitted raises the mark of the counter to the token, and reports false if it is above that already. What follows happens in the same
// step, as nothing else goes on meanwhile.
func (c *client) admitted(token uint64, refusal string) bool {
	if !c.setup.Fenced {
		return true
	}
	err := c.counter.marks.Raise(context.Background(), key, token)
	stale, refused := errors.AsType[*fence.StaleError](err)
	if refused {
		c.tape.Refuse(c.name, refusal, token, stale.Have)
	}
	return err == nil
}
