package redis

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

// leakCall returns the script call that checks a candidate; for a queue, the places after from.
func (e *Engine) leakCall(c leakCandidate, from string) readCall {
	n := e.names(c.Key)
	if c.Kind == driver.Latch {
		return readCall{script: scriptLeakLatch, names: n, keys: n.valueAndToken(), args: []any{"", ""}}
	}
	return readCall{
		script: scriptLeakFind, names: n, keys: n.allKeys(), args: []any{c.part, from, partSize},
		mayPublish: c.part == partQueue,
	}
}

// collectLeak reads the first answer about a candidate, and asks for the rest. The leak's count is 0 if the candidate
// is no leak.
func (e *Engine) collectLeak(
	ctx context.Context, c leakCandidate, first readCall, answer any,
) (l driver.Leak, err error) {
	if answer == nil {
		answer, err = e.readName(ctx, first)
	}
	for err == nil {
		var more string
		if more, err = readLeak(&l, c, answer); err != nil || more == "" {
			return l, err
		}
		answer, err = e.readName(ctx, e.leakCall(c, more))
	}
	return l, err
}

// leakScriptWords are the words that the scripts use for the sorts of leaks.
var leakScriptWords = map[driver.LeakSort]string{
	driver.EndlessLease: "lease",
	driver.EndlessToken: "token",
	driver.DeadWaiters:  "waiters",
	driver.Remains:      "remains",
}

// readLeak adds an answer of the script to a leak. If a queue has more places, it returns the one after which to go on.
func readLeak(l *driver.Leak, c leakCandidate, answer any) (more string, err error) {
	l.Key = c.Key
	if c.Kind == driver.Latch {
		mark, ok := answer.(string)
		if !ok {
			return "", errReply
		}
		if mark != "" {
			l.Sort, l.Count, l.Mark = driver.Remains, 1, c.part+" "+mark
		}
		return "", nil
	}
	items, ok := answer.([]any)
	if ok && len(items) == 0 {
		return "", nil
	}
	if !ok || len(items) < 3 {
		return "", errReply
	}
	word, _ := items[0].(string)
	count, _ := items[1].(int64)
	mark, _ := items[2].(string)
	for sort, w := range leakScriptWords {
		if w == word {
			l.Sort = sort
		}
	}
	l.Count += int(count)
	switch l.Sort {
	case 0:
		return "", errReply
	case driver.DeadWaiters:
		l.Mark = c.part
		return mark, nil
	case driver.EndlessLease:
		if len(items) != 5 {
			return "", errReply
		}
		token, _ := items[3].(string)
		l.Token, _ = strconv.ParseUint(token, 10, 64)
		if l.Holder, ok = items[4].(string); !ok {
			l.Holder = otherKind
		}
	}
	l.Mark = c.part + " " + mark
	return "", nil
}
