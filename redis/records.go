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

// removalNames are the keys of the records of removals: of no lock, as its name would be empty. All engines with the same prefix have them in common. In a
// Cluster they are in the slot of the prefix.
func (e *Engine) removalNames() (n names, keys []string) {
	beside := "{" + e.prefix + "}:"
	// The token is not one: whoever meets a server asks for the rights to all names of a lock.
	return names{value: beside + partRemovals, token: beside + partRemovalTexts, beside: beside, tag: e.prefix}, []string{beside + partRemovals, beside + partRemovalTexts}
}

// record is a removal as it is stored.
type record struct {
	ID      string         `json:"id"`
	At      int64          `json:"at_us"` // since 1970
	Kind    driver.Kind    `json:"kind"`
	Name    string         `json:"name"`
	Token   uint64         `json:"token"`
	Holder  string         `json:"holder"`
	By      string         `json:"by"`
	Why     string         `json:"why"`
	Outcome driver.Outcome `json:"outcome"`
}

// Record implements [driver.Recorder]. All engines with the same prefix have the records in common. They never end, and are lost with the other data of the server.
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	text, err := json.Marshal(record{r.ID, r.At.UnixMicro(), r.Kind, r.Name, r.Token, r.Holder, r.By, r.Why, r.Outcome})
	if err != nil {
		return driver.Permanent(fmt.Errorf("redis: a record of a removal: %w", err))
	}
	n, keys := e.removalNames()
	return aboutRecords(keys, yes(e.ask(ctx, writeRecord, n, keys, r.ID, r.At.UnixMicro(), text, driver.MaxRemovals)))
}

// recordCount is how many records are read in one go: they may be of four texts of a kilobyte each.
const recordCount = 25

// Records implements [driver.Recorder]. All are those that there were at one moment.
func (e *Engine) Records(ctx context.Context, limit int) (all []driver.Removal, _ error) {
	if limit <= 0 || limit > driver.MaxRemovals {
		limit = driver.MaxRemovals
	}
	n, keys := e.removalNames()
	read := func(args ...any) (ids []any, err error) {
		answer, err := e.peek(ctx, glance{script: readRecords, names: n, keys: keys, args: args})
		if err != nil {
			return nil, aboutRecords(keys, err)
		}
		ids, found, err := readRemovals(answer)
		all = append(all, found...)
		return ids, err
	}
	// The oldest come first, with the ids: they may be forgotten before there is time for the others.
	ids, err := read(limit, recordCount)
	for ids = ids[:max(len(ids)-recordCount, 0)]; err == nil && len(ids) > 0; {
		from := max(len(ids)-recordCount, 0)
		_, err = read(append([]any{0, 0}, ids[from:]...)...)
		ids = ids[:from]
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b driver.Removal) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, nil
}

// readRemovals reads what the script has answered.
func readRemovals(answer any) (ids []any, all []driver.Removal, _ error) {
	parts, _ := answer.([]any)
	if len(parts) != 2 {
		return nil, nil, errReply
	}
	ids, _ = parts[0].([]any)
	records, _ := parts[1].([]any)
	for _, item := range records {
		text, _ := item.(string)
		var r record
		switch err := json.Unmarshal([]byte(text), &r); {
		case text == "":
			continue // somebody has deleted it
		case err != nil:
			return nil, nil, fmt.Errorf("redis: a record of a removal was damaged by another program: delete both keys of removals: %w", err)
		}
		all = append(all, driver.Removal{ID: r.ID, At: time.UnixMicro(r.At).UTC(), Key: driver.Key{Kind: r.Kind, Name: r.Name}, Token: r.Token,
			Holder: r.Holder, By: r.By, Why: r.Why, Outcome: r.Outcome})
	}
	return ids, all, nil
}

// aboutRecords says of an error what it is about. The keys may be others than those that the user may touch.
func aboutRecords(keys []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("records of removals, in the keys %s: %w", strings.Join(keys, " and "), err)
}
