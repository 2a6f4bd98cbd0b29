package redisson

import (
	"context"
	"math"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// What a lock without an end has as its mark, and a check before the scripts that take a lock away.
var (
	leakOf     = luascript.New(leakMarkText + "return leak_mark(KEYS[1])")
	checkLeaks = leakMarkText + "if leak_mark(KEYS[1]) ~= ARGV[#ARGV] then return 0 end\n"
	sweeps     = map[*luascript.Script]*luascript.Script{
		lockForce:      luascript.New(checkLeaks + ownerText + lockForceText),
		fairForce:      luascript.New(checkLeaks + ownerText + fairText + fairForceText),
		readWriteForce: luascript.New(checkLeaks + ownerText + readWriteText + readWriteForceText),
	}
)

// Leaks implements [driver.Operator]. It finds locks whose lease never ends, which no client makes, be it this one or
// one in Java.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After, q.Limit = driver.Key{}, math.MaxInt
	var failed error
	err := e.walk(ctx, q, func(piece []driver.Status) bool {
		for _, st := range piece {
			if st.Kind != driver.Lock || len(st.Holders) != 1 || st.Holders[0].TTL != driver.NoTTL {
				continue
			}
			mark, err := e.leakMark(ctx, st.Key)
			if err != nil {
				failed = reply.NoEffect(err)
				return false
			}
			h := st.Holders[0]
			if mark != "" && !visit(driver.Leak{
				Key: st.Key, Sort: driver.EndlessLease, Token: h.Token, Holder: h.Holder, Count: 1, Mark: mark,
			}) {
				return false
			}
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

func (e *Engine) leakMark(ctx context.Context, k driver.Key) (string, error) {
	_, name, err := e.object(k)
	if err != nil {
		return "", err
	}
	answer, err := e.run(ctx, func(string) call { return call{leakOf, []string{name}, nil} })
	mark, _ := answer.(string)
	return mark, err
}

// Sweep implements [driver.Operator]. One script checks that the leak is still the same, and takes the lock away as a
// forced release does.
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	if err := ctx.Err(); err != nil {
		return driver.NoEffect(err)
	}
	if l.Name == "" || l.Kind != driver.Lock || l.Sort != driver.EndlessLease || l.Mark == "" {
		return driver.ErrNotHeld
	}
	p, name, err := e.object(l.Key)
	if err != nil {
		return err
	}
	return replies.Held(e.run(ctx, func(publish string) call {
		c := p.force(name, l.Token, nil, publish) // the mark says who holds it
		c.script, c.args = sweeps[c.script], append(c.args, l.Mark)
		return c
	}))
}
