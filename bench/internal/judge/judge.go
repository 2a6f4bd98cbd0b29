// Package judge watches whether holders of one lock are ever two at the same time, and whether their tokens
// grow. It may watch several processes at once, through a file that they share.
package judge

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// page is what processes share.
type page struct {
	holder  atomic.Uint64 // who is inside; 0 for nobody
	last    atomic.Uint64 // who was inside before
	token   atomic.Uint64 // the largest so far
	crowded atomic.Uint64 // how often one came in while another was inside
	unruly  atomic.Uint64 // how often a token did not grow
}

// Judge watches one lock. All methods may be used by many goroutines at the same time.
type Judge struct {
	page  *page
	bytes []byte // mapped
	began time.Time
	left  atomic.Int64 // when the last one left, since began
}

// New returns a Judge of this process alone.
func New() *Judge { return &Judge{page: new(page), began: time.Now()} }

// Open returns a Judge that shares what it sees with all others that have opened the same file. The file is made if
// there is none.
func Open(path string) (*Judge, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(page{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	bytes, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &Judge{page: (*page)(unsafe.Pointer(&bytes[0])), bytes: bytes, began: time.Now()}, nil
}

// Close lets go of the file. The judge must not be used after it.
func (j *Judge) Close() error {
	if j.bytes == nil {
		return nil
	}
	return syscall.Munmap(j.bytes)
}

// Turn is one stay inside.
type Turn struct {
	// HandOver: the one before was somebody else.
	HandOver bool
	// Gap is the time since the one before left, if it was one of this process.
	Gap time.Duration
}

// Enter is called right after who (not zero) has been granted the lock. A zero token is none.
func (j *Judge) Enter(who, token uint64) Turn {
	now := time.Since(j.began)
	if !j.page.holder.CompareAndSwap(0, who) {
		j.page.crowded.Add(1)
	}
	if token != 0 && token <= j.page.token.Swap(max(token, j.page.token.Load())) {
		j.page.unruly.Add(1)
	}
	return Turn{HandOver: j.page.last.Swap(who) != who, Gap: now - time.Duration(j.left.Load())}
}

// Leave is called right before who releases the lock.
func (j *Judge) Leave(who uint64) {
	j.left.Store(int64(time.Since(j.began)))
	j.page.holder.CompareAndSwap(who, 0)
}

// Verdict returns an error if two have been inside at the same time, or a token did not grow.
func (j *Judge) Verdict() error {
	var crowded, unruly error
	if n := j.page.crowded.Load(); n > 0 {
		crowded = fmt.Errorf("exclusion is violated: %d times, one was granted the lock while another held it", n)
	}
	if n := j.page.unruly.Load(); n > 0 {
		unruly = fmt.Errorf("order is violated: %d times, a token was not larger than the one before", n)
	}
	return errors.Join(crowded, unruly)
}
