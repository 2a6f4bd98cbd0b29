package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// againAfter is when a removal that was not confirmed is tried again.
	againAfter = time.Second
	// tidyAfter is how long after a release it is looked whether that was the last place of a name.
	tidyAfter = 250 * time.Millisecond
	// farewell is for how long Close looks after names that were released just before.
	farewell = time.Second
	// atOnce is how many requests of one errand are under way at the same time.
	atOnce = 16
)

// extend moves the end of a lease to so long from now, if that is later or from is set. The mu of places is held.
func (e *Engine) extend(p *place, d time.Duration, from bool) {
	if end := time.Now().Add(d); from || end.After(p.end) {
		p.end = end
		e.ends.Set(p, end)
	}
}

// keepAlive says of a place where somebody waits that it is not forgotten.
func (e *Engine) keepAlive(p *place, d time.Duration) {
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	if !p.granted && !p.gone {
		e.extend(p, d, false)
	}
}

// abandon has a place removed as soon as that can be done.
func (e *Engine) abandon(p *place) {
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	e.places.doomed[p.name] = struct{}{}
	e.extend(p, 0, true)
}

// drop forgets a place that is gone.
func (e *Engine) drop(p *place) {
	e.places.drop(p)
	e.ends.Remove(p)
}

// lapse removes places whose time has come. The servers know of the end of a session only.
func (e *Engine) lapse(due []*place) {
	each(len(due), func(i int) {
		p := due[i]
		over, crowded := e.lapsed(p)
		if !over {
			return
		}
		ctx, cancel := context.WithTimeout(e.life, e.config.timeout)
		defer cancel()
		err := e.free(ctx, p.parent, p.name, crowded)
		if session, _ := e.client.current(); err == nil || errors.Is(err, zk.ErrNoNode) || session != p.session && !p.kept {
			e.places.removed(p.name)
			return
		}
		e.ends.Set(p, time.Now().Add(againAfter))
	})
}

// lapsed reports whether the time of a place has come, and whether others are probably behind it. If so, it makes sure that it is not extended any more.
func (e *Engine) lapsed(p *place) (over, crowded bool) {
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	if time.Now().Before(p.end) {
		e.ends.Set(p, p.end) // extended meanwhile
		return false, false
	}
	if session, _ := e.client.current(); session != p.session && !p.kept {
		delete(e.places.doomed, p.name)
		return false, false // it is gone
	}
	p.gone = true
	e.places.doomed[p.name] = struct{}{}
	if e.places.all[p.claim] == p {
		delete(e.places.all, p.claim)
	}
	return true, p.waited
}

// tidy removes nodes of names that nobody holds nor waits for.
func (e *Engine) tidy(parents []string) {
	each(len(parents), func(i int) {
		ctx, cancel := context.WithTimeout(e.errands, e.config.timeout)
		defer cancel()
		stat, err := e.client.exists(ctx, parents[i])
		if err == nil && stat != nil && stat.NumChildren == 0 {
			_ = e.client.remove(ctx, parents[i]) // whoever has just come keeps it; and whoever comes next removes it
		}
	})
}

// each calls f for 0 to n-1, several at the same time.
func each(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var all sync.WaitGroup
	next := make(chan int)
	for range min(n, atOnce) {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
