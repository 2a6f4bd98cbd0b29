package sqlite

import (
	"database/sql"
	"errors"
	"math"

	"github.com/leasehold-go/leasehold/driver"
)

// holding is what the holders of a key are to one owner.
type holding struct {
	crowd
	expired  int   // rows that may be removed
	nextEnd  int64 // when the next of the leases ends; math.MaxInt64 if nobody holds
	token    int64 // the owner's own grant, or zero
	tokens   int
	anyQueue bool // somebody waits, or did until he died
}

// look reads the holders of a key as they are to an owner, who may be nobody ("").
func (v *view) look(k driver.Key, owner string) (h holding, err error) {
	var nextEnd, token, tokens sql.NullInt64
	err = v.row([]any{&h.holders, &h.weight, &h.exclusive, &h.expired, &nextEnd, &token, &tokens, &h.anyQueue}, `
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
	h.nextEnd, h.token, h.tokens = math.MaxInt64, token.Int64, int(tokens.Int64)
	if nextEnd.Valid {
		h.nextEnd = nextEnd.Int64
	}
	return h, err
}

// clear removes the leases of a key that have ended.
func (v *view) clear(k driver.Key, h holding) error {
	if h.expired == 0 {
		return nil
	}
	_, err := v.exec("DELETE FROM holders WHERE kind = ? AND name = ? AND expires <= ?", k.Kind, k.Name, v.now)
	return err
}

// line is the head of a queue, as far as somebody has read it.
type line struct {
	run     []place // those who may enter
	nextEnd int64   // when the first of those who were read will count as dead
}

// readLine reads the queue of a key from its head up to the first who must wait.
func (v *view) readLine(k driver.Key, c crowd) (l line, err error) {
	l.nextEnd = math.MaxInt64
	queue := func(yield func(place) bool) {
		var p place
		var end int64
		err = v.each([]any{&p.seq, &p.mode, &p.weight, &p.size, &end}, func() bool {
			l.nextEnd = min(l.nextEnd, end)
			return yield(p)
		}, `
			SELECT seq, mode, weight, size, alive_until FROM waiters
			WHERE kind = ? AND name = ? AND alive_until > ? ORDER BY seq`,
			k.Kind, k.Name, v.now)
	}
	l.run = entering(k.Kind, c, queue)
	return l, err
}

// bury removes the dead from the head of a queue.
func (v *view) bury(k driver.Key) error {
	var dead []int64
	var seq, end int64
	err := v.each([]any{&seq, &end}, func() bool {
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

// headOf returns the first who waits for a key, or zero. The dead are buried before.
func (v *view) headOf(k driver.Key) (seq int64, err error) {
	return optional(v, "SELECT seq FROM waiters WHERE kind = ? AND name = ? ORDER BY seq LIMIT 1", k.Kind, k.Name)
}

// placeOf returns an owner's place in the queue, or zero.
func (v *view) placeOf(k driver.Key, owner string) (seq int64, err error) {
	return optional(v, "SELECT seq FROM waiters WHERE owner = ? AND kind = ? AND name = ? AND alive_until > ?",
		owner, k.Kind, k.Name, v.now)
}

// optional reads a number that may be missing, and is zero then.
func optional(v *view, query string, args ...any) (n int64, err error) {
	err = v.row([]any{&n}, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
