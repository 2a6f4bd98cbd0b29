package redisson

import (
	"context"
	"sync"
)

// background is work that goes on after its caller has left, until the engine is closed. The zero value is ready.
type background struct {
	mu     sync.Mutex
	life   context.Context
	end    context.CancelFunc
	closed bool
	work   sync.WaitGroup
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
	b.work.Go(func() { f(life) })
}

// Close ends the work, and returns when it has ended.
func (b *background) Close() {
	b.mu.Lock()
	b.closed = true
	if b.end != nil {
		b.end()
	}
	b.mu.Unlock()
	b.work.Wait()
}
