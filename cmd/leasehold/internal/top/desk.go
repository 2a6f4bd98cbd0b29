package top

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// desk has errands run, at most one of each sort at a time. It is for one goroutine.
type desk struct {
	ctx      context.Context
	client   *leasehold.Client
	cancel   [sorts]context.CancelFunc // of what is under way
	answers  chan answer
	progress chan progress
}

func newDesk(ctx context.Context, c *leasehold.Client) *desk {
	// All that may be under way has room, so nobody waits for the screen.
	return &desk{ctx: ctx, client: c, answers: make(chan answer, sorts), progress: make(chan progress, 1)}
}

// start runs an errand, and has its answer sent.
func (d *desk) start(t task) {
	ctx, cancel := context.WithCancel(d.ctx)
	d.cancel[t.errand] = cancel
	go func() {
		defer cancel()
		a := answer{task: t}
		defer func() {
			// The terminal is put right before the program ends, and only the loop can do that.
			a.panic = recover()
			d.answers <- a
		}()
		d.run(ctx, &a)
	}()
}

func (d *desk) run(ctx context.Context, a *answer) {
	switch a.errand {
	case looking:
		a.picture, a.err = look(ctx, d.client, a.query, a.view, func(so progress) {
			select {
			case <-d.progress: // nobody has looked at the last one yet
			default:
			}
			select {
			case d.progress <- so:
			default:
			}
		})
	case opening:
		a.detail, a.err = inspect(ctx, d.client, a.key)
	case examining:
		a.places, a.err = d.client.Examine(ctx)
	}
}

// stop ends an errand whose answer is of no use. The answer comes all the same, soon.
func (d *desk) stop(e errand) { d.cancel[e]() }

// maxQuit is how long errands have to end when the screen is closed. They end at once, as their context does, unless an engine is stuck.
const maxQuit = time.Second

// wait waits for errands to end. The context of the desk must have ended.
func (d *desk) wait(m *model) {
	limit := time.After(maxQuit)
	for _, w := range m.work {
		if !w.busy {
			continue
		}
		select {
		case <-d.answers:
		case <-limit:
			return
		}
	}
}

// inspect asks for all about one name. A place that is silent takes its time, so both questions are asked at the same time.
func inspect(ctx context.Context, c *leasehold.Client, k driver.Key) (detail, error) {
	type said struct {
		votes []leasehold.Vote
		err   error
		panic any
	}
	asked := make(chan said, 1)
	go func() {
		var s said
		defer func() { s.panic = recover(); asked <- s }()
		s.votes, s.err = c.Votes(ctx, k.Kind, k.Name)
	}()
	found, err := c.Inspect(ctx, k.Name)
	votes := <-asked
	if votes.panic != nil {
		panic(votes.panic)
	}
	d := detail{votes: votes.votes}
	for _, s := range found {
		if s.Kind == k.Kind {
			d.status = s
		}
	}
	if errors.Is(votes.err, leasehold.ErrUnsupported) {
		votes.err = nil
	}
	if err == nil {
		err = votes.err
	}
	return d, err
}
