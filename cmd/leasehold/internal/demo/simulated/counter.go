package simulated

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

// Read implements [scenario.Client].
func (c *client) Read(token uint64) (value int, ok bool) {
	c.delayMessage()
	defer c.delayMessage()
	if !c.raiseMark(token, "reading is refused") {
		return 0, false
	}
	return c.counter.value, true
}

// Write implements [scenario.Client].
func (c *client) Write(token uint64, value int) (ok bool) {
	c.delayMessage()
	defer c.delayMessage()
	if !c.raiseMark(token, "write is refused") {
		return false
	}
	c.recorder.NoteWrite(c.name, c.counter.value, value)
	c.counter.value = value
	return true
}

// raiseMark raises the mark of the counter to the token, and reports false if the mark is above the token. Nothing else
// runs between this and the caller's next step.
func (c *client) raiseMark(token uint64, refusal string) bool {
	if !c.setup.Fenced {
		return true
	}
	err := c.counter.marks.Raise(context.Background(), key, token)
	stale, refused := errors.AsType[*fence.StaleError](err)
	if refused {
		c.recorder.NoteRefusal(c.name, refusal, token, stale.Have)
	}
	return err == nil
}
