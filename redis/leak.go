package redis

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

// glanceAt is a look at a suspect; at a queue from some place on.
func (e *Engine) glanceAt(s suspect, from string) glance {
	n := e.names(s.Key)
	if s.Kind == driver.Latch {
		return glance{script: leakLatch, names: n, keys: n.counted(), args: []any{"", ""}}
	}
	return glance{script: findLeak, names: n, keys: n.all(), args: []any{s.part, from, partCount}, aloud: s.part == partQueue}
}

// leakOf reads the first answer about a suspect, and asks for the rest. The count is 0 if it is no leak.
func (e *Engine) leakOf(ctx context.Context, s suspect, first glance, answer any) (l driver.Leak, err error) {
	if answer == nil {
		answer, err = e.look(ctx, first)
	}
	for err == nil {
		var more string
		if more, err = readLeak(&l, s, answer); err != nil || more == "" {
			return l, err
		}
		answer, err = e.look(ctx, e.glanceAt(s, more))
	}
	return l, err
}

// Words for the sorts of leaks, as the scripts know them.
var leakWords = map[driver.LeakSort]string{
	driver.EndlessLease: "lease", driver.EndlessToken: "token", driver.DeadWaiters: "waiters", driver.Remains: "remains",
}

// readLeak takes in what a script has answered, and returns the place behind which a queue is to be looked at next, if there is more of it.
func readLeak(l *driver.Leak, s suspect, answer any) (more string, err error) {
	l.Key = s.Key
	if s.Kind == driver.Latch {
		mark, ok := answer.(string)
		if !ok {
			return "", errReply
		}
		if mark != "" {
			l.Sort, l.Count, l.Mark = driver.Remains, 1, s.part+" "+mark
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
	for sort, w := range leakWords {
		if w == word {
			l.Sort = sort
		}
	}
	l.Count += int(count)
	switch l.Sort {
	case 0:
		return "", errReply
	case driver.DeadWaiters:
		l.Mark = s.part
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
	l.Mark = s.part + " " + mark
	return "", nil
}
