package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Last parts of the keys of records.
const (
	partRemovals     = "removals"
	partRemovalTexts = "removal-texts"
)

// removalKeys returns the keys of the removal records. They belong to no lock, as its name would be empty. All engines
// with the same prefix share them. In a Cluster they are in the slot of the prefix.
func (e *Engine) removalKeys() (n redisKeys, keys []string) {
	beside := "{" + e.prefix + "}:"
	// The second key stands in for the token: initializing a server checks the rights to all keys of a name.
	n = redisKeys{value: beside + partRemovals, token: beside + partRemovalTexts}
	return n, []string{n.value, n.token}
}

// removalRecord is a removal as it is stored.
type removalRecord struct {
	ID      string         `json:"id"`
	At      int64          `json:"at_us"` // microseconds since 1970
	Kind    driver.Kind    `json:"kind"`
	Name    string         `json:"name"`
	Token   uint64         `json:"token"`
	Holder  string         `json:"holder"`
	By      string         `json:"by"`
	Why     string         `json:"why"`
	Outcome driver.Outcome `json:"outcome"`
}

// Record implements [driver.Operator]. All engines with the same prefix share the records. They do not expire, and are
// lost with the other data of the server.
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	text, err := json.Marshal(removalRecord{
		r.ID, r.At.UnixMicro(), r.Kind, r.Name, r.Token, r.Holder, r.By, r.Why, r.Outcome,
	})
	if err != nil {
		return driver.Permanent(fmt.Errorf("redis: a record of a removal: %w", err))
	}
	n, keys := e.removalKeys()
	return aboutRecords(keys, replies.Held(inTime(ctx, e, func(ctx context.Context) (any, error) {
		return e.runWithoutGrant(ctx, scriptRemovalWrite, n, keys, r.ID, r.At.UnixMicro(), text, driver.MaxRemovals)
	}, nil)))
}

// recordsPerRead is how many records are read at once: each may have four texts of a kilobyte.
const recordsPerRead = 25

// Records implements [driver.Operator]. It returns the records as they were at one moment.
func (e *Engine) Records(ctx context.Context, limit int) (all []driver.Removal, _ error) {
	if limit <= 0 || limit > driver.MaxRemovals {
		limit = driver.MaxRemovals
	}
	n, keys := e.removalKeys()
	read := func(args ...any) (ids []any, err error) {
		answer, err := e.runReadOnly(ctx, readCall{script: scriptRemovalsRead, names: n, keys: keys, args: args})
		if err != nil {
			return nil, aboutRecords(keys, err)
		}
		ids, found, err := readRemovals(answer)
		all = append(all, found...)
		return ids, err
	}
	// Read the oldest first, together with the ids: they might be dropped before the others have been read.
	ids, err := read(limit, recordsPerRead)
	for ids = ids[:max(len(ids)-recordsPerRead, 0)]; err == nil && len(ids) > 0; {
		from := max(len(ids)-recordsPerRead, 0)
		_, err = read(append([]any{0, 0}, ids[from:]...)...)
		ids = ids[:from]
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b driver.Removal) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, nil
}

// readRemovals reads the answer of removals_read.lua.
func readRemovals(answer any) (ids []any, all []driver.Removal, _ error) {
	parts, _ := answer.([]any)
	if len(parts) != 2 {
		return nil, nil, errReply
	}
	ids, _ = parts[0].([]any)
	records, _ := parts[1].([]any)
	for _, item := range records {
		text, _ := item.(string)
		var r removalRecord
		switch err := json.Unmarshal([]byte(text), &r); {
		case text == "":
			continue // somebody has deleted it
		case err != nil:
			return nil, nil, fmt.Errorf("redis: a record of a removal was damaged by another program: "+
				"delete both keys of removals: %w", err)
		}
		all = append(all, driver.Removal{
			ID: r.ID, At: time.UnixMicro(r.At).UTC(), Key: driver.Key{Kind: r.Kind, Name: r.Name}, Token: r.Token,
			Holder: r.Holder, By: r.By, Why: r.Why, Outcome: r.Outcome,
		})
	}
	return ids, all, nil
}

// aboutRecords adds to an error that it is about records, and their keys: the user may have rights to other keys only.
func aboutRecords(keys []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("records of removals, in the keys %s: %w", strings.Join(keys, " and "), err)
}
