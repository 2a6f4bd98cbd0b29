package top

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// requests sends requests, at most one of each kind at a time. It is for one goroutine.
type requests struct {
	ctx       context.Context
	client    *admin.Client
	cancels   [requestKinds]context.CancelFunc // of the requests in flight
	responses chan response
	progress  chan progress
}

func newRequests(ctx context.Context, c *admin.Client) *requests {
	// There is room for all requests in flight, so none of them waits for the screen.
	return &requests{ctx: ctx, client: c, responses: make(chan response, requestKinds),
		progress: make(chan progress, 1)}
}

// start runs a request, and sends its response to responses.
func (r *requests) start(t request) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.cancels[t.kind] = cancel
	go func() {
		defer cancel()
		a := response{request: t}
		defer func() {
			// Only the loop can restore the terminal before the program ends.
			a.panic = recover()
			r.responses <- a
		}()
		r.run(ctx, &a)
	}()
}

func (r *requests) run(ctx context.Context, a *response) {
	switch a.kind {
	case listNames:
		a.snapshot, a.err = takeSnapshot(ctx, r.client, a.query, a.view, func(p progress) {
			select {
			case <-r.progress: // drop an older report that was not read
			default:
			}
			select {
			case r.progress <- p:
			default:
			}
		})
	case inspectOne:
		a.detail, a.err = inspect(ctx, r.client, a.key)
	case examineServers:
		a.examination, a.err = r.client.Examine(ctx)
	}
}

// cancel cancels a request whose response is of no use. The response still comes, soon.
func (r *requests) cancel(e requestKind) { r.cancels[e]() }

// maxQuit is how long requests may take to end when the screen is closed. They end at once, as their context does,
// unless an engine is stuck.
const maxQuit = time.Second

// wait waits for requests in flight. Their context must have ended.
func (r *requests) wait(m *model) {
	limit := time.After(maxQuit)
	for _, w := range m.requests {
		if !w.inFlight {
			continue
		}
		select {
		case <-r.responses:
		case <-limit:
			return
		}
	}
}

// inspect asks for everything about one name. It sends both requests at the same time, since a silent node takes its
// time.
func inspect(ctx context.Context, c *admin.Client, k driver.Key) (detail, error) {
	type said struct {
		votes []admin.Vote
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
	var closed *leasehold.GrantsClosedError
	if err == nil && k.Kind != driver.Latch {
		closed, err = c.GrantsClosed(ctx, k.Kind, k.Name)
	}
	votes := <-asked
	if votes.panic != nil {
		panic(votes.panic)
	}
	d := detail{votes: votes.votes, closed: closed}
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
