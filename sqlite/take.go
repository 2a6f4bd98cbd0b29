package sqlite

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// takeOnce is Take in the goroutine of a worker.
func (e *Engine) takeOnce(ctx context.Context, r driver.Request) (driver.Grant, error) {
	grant, _, err := e.take(ctx, r)
	return grant, err
}

// take is Take; with ErrHeld it also returns the owner's place in the queue, if it has one.
func (e *Engine) take(ctx context.Context, r driver.Request) (grant driver.Grant, seq int64, err error) {
	err = e.change(ctx, e.fast, func(v *view) (err error) {
		grant, seq, err = e.tryTake(v, r)
		return err
	})
	if err == nil && grant.Token == 0 {
		err = driver.ErrHeld
	}
	if err != nil {
		return driver.Grant{}, seq, err
	}
	return grant, 0, nil
}

// tryTake returns no grant if the key is held.
func (e *Engine) tryTake(v *view, r driver.Request) (grant driver.Grant, seq int64, err error) {
	h, err := v.readHolders(r.Key, r.Owner)
	if err != nil {
		return grant, 0, err
	}
	if h.token != 0 {
		return renewHeld(v, r, h)
	}
	if err := v.removeExpired(r.Key, h); err != nil {
		return grant, 0, err
	}
	first := true
	if h.mayHaveQueue {
		if seq, first, err = v.queuePosition(r); err != nil {
			return grant, 0, err
		}
	}
	if first && h.admits(r.Kind, demand{r.Mode, r.Weight, r.Size}) {
		grant, err = e.grant(v, r, seq)
		return grant, 0, err
	}
	if r.Join {
		seq, err = v.join(r, seq)
	}
	return grant, seq, err
}

// renewHeld extends the lease of an owner that holds already.
func renewHeld(v *view, r driver.Request, h holderState) (driver.Grant, int64, error) {
	if h.token < 1 || h.token > driver.MaxToken || h.tokens < 1 || int64(h.tokens) > driver.MaxToken-h.token+1 {
		return driver.Grant{}, 0, errTokens
	}
	ttl := micros(r.TTL)
	_, err := v.exec(`
		UPDATE holders SET ttl = max(ttl, ?), expires = max(expires, ?)
		WHERE kind = ? AND name = ? AND token = ?`,
		ttl, v.now+ttl, r.Kind, r.Name, h.token)
	return driver.Grant{Token: uint64(h.token), Tokens: min(h.tokens, max(r.Tokens, 1)), Start: v.start}, 0, err
}

// queuePosition returns the owner's place in the queue, or zero, and whether nobody is before it.
func (v *view) queuePosition(r driver.Request) (seq int64, first bool, err error) {
	if err := v.removeDeadWaiters(r.Key); err != nil {
		return 0, false, err
	}
	if seq, err = v.seqOf(r.Key, r.Owner); err != nil {
		return 0, false, err
	}
	head, err := v.headSeq(r.Key)
	return seq, head == seq, err
}

// grant makes the owner a holder. It removes the owner from the queue if seq is not zero.
func (e *Engine) grant(v *view, r driver.Request, seq int64) (driver.Grant, error) {
	tokens := min(max(r.Tokens, 1), maxTokens)
	token, err := e.issueTokens(v, tokens)
	if err != nil {
		return driver.Grant{}, err
	}
	ttl := micros(r.TTL)
	_, err = v.exec(`
		INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Kind, r.Name, token, tokens, r.Owner, r.Mode, r.Weight, ttl, v.now+ttl, v.now, r.Holder)
	if err == nil && seq != 0 {
		_, err = v.exec("DELETE FROM waiters WHERE seq = ?", seq)
	}
	return driver.Grant{Token: uint64(token), Tokens: tokens, Start: v.start}, err
}

// join adds the owner to the queue, or keeps the place that it has.
func (v *view) join(r driver.Request, seq int64) (int64, error) {
	end := v.now + micros(waiterTTL)
	if seq != 0 {
		_, err := v.exec("UPDATE waiters SET alive_until = ? WHERE seq = ?", end, seq)
		return seq, err
	}
	// A place of the owner that has counted as dead, behind others that live, is not kept.
	_, err := v.exec("DELETE FROM waiters WHERE owner = ? AND kind = ? AND name = ?", r.Owner, r.Kind, r.Name)
	if err != nil {
		return 0, err
	}
	if err := v.checkRoom(r); err != nil {
		return 0, err
	}
	err = v.row([]any{&seq}, `
		INSERT INTO waiters (kind, name, owner, mode, weight, size, alive_until, joined, holder)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
		r.Kind, r.Name, r.Owner, r.Mode, r.Weight, r.Size, end, v.now, r.Holder)
	return seq, err
}

// checkRoom returns ErrTooManyWaiters if the queue has no room for one more. If it has none, dead waiters are
// removed first, wherever they are.
func (v *view) checkRoom(r driver.Request) error {
	for last := false; r.MaxWaiters > 0; last = true {
		var n int
		err := v.row([]any{&n}, "SELECT count(*) FROM (SELECT 1 FROM waiters WHERE kind = ? AND name = ? LIMIT ?)",
			r.Kind, r.Name, r.MaxWaiters)
		switch {
		case err != nil || n < r.MaxWaiters:
			return err
		case last:
			return driver.ErrTooManyWaiters
		}
		_, err = v.exec("DELETE FROM waiters WHERE kind = ? AND name = ? AND alive_until <= ?", r.Kind, r.Name, v.now)
		if err != nil {
			return err
		}
	}
	return nil
}
