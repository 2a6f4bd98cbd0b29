package redisson

import (
	"context"
	"sync"
	"time"
)

// background is work that goes on after its caller has left, until the engine is closed. The zero value is ready.
type background struct {
	mu     sync.Mutex
	count  int           // calls that may begin work, and work
	none   chan struct{} // closed when count comes down to 0, unless nil
	life   context.Context
	end    context.CancelFunc
	closed bool
	work   sync.WaitGroup
}

// closePatience is how long Close waits for work that is under way.
const closePatience = time.Second

// Begin notes a call that may begin work until it calls the function that Begin returns. Close waits for it, too.
func (b *background) Begin() (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	return b.done
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count--; b.count == 0 && b.none != nil {
		close(b.none)
		b.none = nil
	}
}

// Go calls f in a goroutine, unless the engine is closed. The context ends when it is.
func (b *background) Go(f func(life context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if b.life == nil {
		b.life, b.end = context.WithCancel(context.Background())
	}
	life := b.life
	b.count++
	b.work.Go(func() {
		defer b.done()
		f(life)
	})
}

// Close waits for the work that is under way, but not for long. It ends what is left, and returns when that has ended.
func (b *background) Close() {
	b.awaitNone(closePatience)
	b.mu.Lock()
	b.closed = true
	if b.end != nil {
		b.end()
	}
	b.mu.Unlock()
	b.work.Wait()
}

// awaitNone waits until no work is under way.
func (b *background) awaitNone(limit time.Duration) {
	b.mu.Lock()
	if b.count == 0 || b.closed {
		b.mu.Unlock()
		return
	}
	if b.none == nil {
		b.none = make(chan struct{})
	}
	none := b.none
	b.mu.Unlock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-none:
	case <-late.C:
	}
}
