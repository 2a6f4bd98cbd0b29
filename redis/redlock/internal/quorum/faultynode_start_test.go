package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// StartTake implements quorumnode.Starter.
func (n *faultyNode) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	n.rule.checkTake(r.Owner, n.name)
	go func() {
		done(byDeadline(ctx, func(ctx context.Context) (driver.Grant, error) { return n.sendTake(ctx, r) }))
	}()
}

// StartRelease implements quorumnode.Starter.
func (n *faultyNode) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	n.rule.noteRelease(r.Owner, n.name)
	go func() {
		_, err := byDeadline(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, n.Release(ctx, r) })
		done(err)
	}()
}

// OnLeftGrant implements quorumnode.Passer.
func (n *faultyNode) OnLeftGrant(release func(k driver.Key, owner string)) { n.left = release }

// StartPass implements quorumnode.Passer.
func (n *faultyNode) StartPass(ctx context.Context, p quorumnode.Pass, done func(bool, error)) {
	n.rule.checkTake(p.To.Owner, n.name)
	n.rule.noteRelease(p.Hold.Owner, n.name)
	n.sendPass(ctx, "pass", p, done, func(e *memory.Engine, p quorumnode.Pass, done func(bool, error)) {
		e.StartPass(ctx, p, done)
	})
}

// StartHandOver implements quorumnode.Passer.
func (n *faultyNode) StartHandOver(ctx context.Context, h quorumnode.HandOver, done func(bool, error)) {
	n.rule.checkTake(h.To.Owner, n.name)
	n.rule.noteRelease(h.Hold.Owner, n.name)
	n.sendPass(ctx, "hand over", h.Pass, done, func(e *memory.Engine, p quorumnode.Pass, done func(bool, error)) {
		h.Pass = p
		e.StartHandOver(ctx, h, func(passed bool, err error) {
			if passed && n.notePassed != nil {
				n.notePassed()
			}
			done(passed, err)
		})
	})
}

// sendPass sends a pass. A node that grants nothing now does nothing.
func (n *faultyNode) sendPass(ctx context.Context, method string, p quorumnode.Pass, done func(bool, error),
	effect func(*memory.Engine, quorumnode.Pass, func(bool, error)),
) {
	go func() {
		done(byDeadline(ctx, func(ctx context.Context) (bool, error) {
			return send(ctx, n, method, p.To.Owner, func(e *memory.Engine) (passed bool, err error) {
				if err := n.node.checkOpen(); err != nil {
					return false, err
				}
				p.To = n.node.receivedRequest(n.skewed(p.To))
				effect(e, p, func(done bool, held error) { passed, err = done, held })
				if passed {
					n.node.noteGrant(driver.Hold{Key: p.Hold.Key, Owner: p.To.Owner}, p.To.Floor, p.To.Tokens)
				}
				return passed, err
			})
		}))
	}()
}

func byDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return f(ctx)
}
