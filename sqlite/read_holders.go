package sqlite

import (
	"database/sql"
	"errors"
	"math"

	"github.com/leasehold-go/leasehold/driver"
)

// holderState is the state of a key as one owner sees it.
type holderState struct {
	holderSum
	expired      int   // rows that may be removed
	nextExpiry   int64 // when the next lease expires; math.MaxInt64 if nobody holds
	token        int64 // the owner's own grant, or zero
	tokens       int
	mayHaveQueue bool // somebody waits, or a dead waiter was not removed yet
}

// readHolders reads the holders of a key as owner sees them. owner may be "", which is nobody.
func (v *view) readHolders(k driver.Key, owner string) (h holderState, err error) {
	var nextExpiry, token, tokens sql.NullInt64
	err = v.row([]any{&h.holders, &h.weight, &h.exclusive, &h.expired, &nextExpiry, &token, &tokens, &h.mayHaveQueue}, `
		SELECT
			count(*) FILTER (WHERE expires > ?3),
			coalesce(sum(min(max(weight, 1), 2147483647)) FILTER (WHERE expires > ?3), 0),
			coalesce(max(mode = ?5) FILTER (WHERE expires > ?3), 0),
			count(*) FILTER (WHERE expires <= ?3),
			min(expires) FILTER (WHERE expires > ?3),
			max(token) FILTER (WHERE expires > ?3 AND owner = ?4),
			max(tokens) FILTER (WHERE expires > ?3 AND owner = ?4),
			EXISTS (SELECT 1 FROM waiters WHERE kind = ?1 AND name = ?2)
		FROM holders WHERE kind = ?1 AND name = ?2`,
		k.Kind, k.Name, v.now, owner, driver.Exclusive)
	h.nextExpiry, h.token, h.tokens = math.MaxInt64, token.Int64, int(tokens.Int64)
	if nextExpiry.Valid {
		h.nextExpiry = nextExpiry.Int64
	}
	return h, err
}

// removeExpired removes the rows of a key whose leases have expired.
func (v *view) removeExpired(k driver.Key, h holderState) error {
	if h.expired == 0 {
		return nil
	}
	_, err := v.exec("DELETE FROM holders WHERE kind = ? AND name = ? AND expires <= ?", k.Kind, k.Name, v.now)
	return err
}

// queueHead is the part of a queue that was read, from its head.
type queueHead struct {
	grantable  []queueEntry // those who may hold now
	nextExpiry int64        // when the first of those read will count as dead
}

// readQueueHead reads the queue of a key from its head, up to the first waiter that must wait.
func (v *view) readQueueHead(k driver.Key, sum holderSum) (head queueHead, err error) {
	head.nextExpiry = math.MaxInt64
	queue := func(yield func(queueEntry) bool) {
		var entry queueEntry
		var end int64
		err = v.forEach([]any{&entry.seq, &entry.mode, &entry.weight, &entry.size, &end}, func() bool {
			head.nextExpiry = min(head.nextExpiry, end)
			return yield(entry)
		}, `
			SELECT seq, mode, weight, size, alive_until FROM waiters
			WHERE kind = ? AND name = ? AND alive_until > ? ORDER BY seq`,
			k.Kind, k.Name, v.now)
	}
	head.grantable = grantable(k.Kind, sum, queue)
	return head, err
}

// removeDeadWaiters removes dead waiters from the head of a queue.
func (v *view) removeDeadWaiters(k driver.Key) error {
	var dead []int64
	var seq, end int64
	err := v.forEach([]any{&seq, &end}, func() bool {
		if end > v.now {
			return false
		}
		dead = append(dead, seq)
		return true
	}, "SELECT seq, alive_until FROM waiters WHERE kind = ? AND name = ? ORDER BY seq", k.Kind, k.Name)
	if err != nil {
		return err
	}
	for _, seq := range dead {
		if _, err := v.exec("DELETE FROM waiters WHERE seq = ?", seq); err != nil {
			return err
		}
	}
	return nil
}

// headSeq returns the number of the first waiter for a key, or zero. Dead waiters must have been removed.
func (v *view) headSeq(k driver.Key) (seq int64, err error) {
	return readOptional(v, "SELECT seq FROM waiters WHERE kind = ? AND name = ? ORDER BY seq LIMIT 1", k.Kind, k.Name)
}

// seqOf returns the number of an owner in the queue, or zero.
func (v *view) seqOf(k driver.Key, owner string) (seq int64, err error) {
	return readOptional(v, "SELECT seq FROM waiters WHERE owner = ? AND kind = ? AND name = ? AND alive_until > ?",
		owner, k.Kind, k.Name, v.now)
}

// readOptional reads a number, or returns zero if there is no row.
func readOptional(v *view, query string, args ...any) (n int64, err error) {
	err = v.row([]any{&n}, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
