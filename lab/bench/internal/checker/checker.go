// Package checker checks that one lock never has two holders at the same time, and that tokens
// grow. It can check several processes at once, through a file that they share.
package checker

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// page is the memory that processes share.
type page struct {
	holder      atomic.Uint64 // who holds the lock; 0 for nobody
	last        atomic.Uint64 // who held it before
	token       atomic.Uint64 // the largest so far
	overlaps    atomic.Uint64 // how often one came in while another held the lock
	tokenErrors atomic.Uint64 // how often a token did not grow
}

// Checker watches one lock. All methods may be used by many goroutines at the same time.
type Checker struct {
	page   *page
	bytes  []byte // mapped
	began  time.Time
	leftAt atomic.Int64 // when the last holder left, since began
}

// New returns a Checker for this process alone.
func New() *Checker { return &Checker{page: new(page), began: time.Now()} }

// Open returns a Checker that shares its observations with all others that have opened the same
// file. It creates the file if necessary.
func Open(path string) (*Checker, error) {
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
	return &Checker{page: (*page)(unsafe.Pointer(&bytes[0])), bytes: bytes, began: time.Now()}, nil
}

// Close closes the file. The checker must not be used afterwards.
func (j *Checker) Close() error {
	if j.bytes == nil {
		return nil
	}
	return syscall.Munmap(j.bytes)
}

// Hold is one possession of the lock.
type Hold struct {
	// HandOver: the holder before was somebody else.
	HandOver bool
	// Gap is the time since the holder before left, if it was one of this process.
	Gap time.Duration
}

// Enter is called right after who (not zero) has been granted the lock. A zero token means none.
func (j *Checker) Enter(who, token uint64) Hold {
	now := time.Since(j.began)
	if !j.page.holder.CompareAndSwap(0, who) {
		j.page.overlaps.Add(1)
	}
	if token != 0 && token <= j.page.token.Swap(max(token, j.page.token.Load())) {
		j.page.tokenErrors.Add(1)
	}
	return Hold{HandOver: j.page.last.Swap(who) != who, Gap: now - time.Duration(j.leftAt.Load())}
}

// Leave is called right before who releases the lock.
func (j *Checker) Leave(who uint64) {
	j.leftAt.Store(int64(time.Since(j.began)))
	j.page.holder.CompareAndSwap(who, 0)
}

// Err returns an error if the lock had two holders at the same time, or a token did not grow.
func (j *Checker) Err() error {
	var overlap, disorder error
	if n := j.page.overlaps.Load(); n > 0 {
		overlap = fmt.Errorf("exclusion is violated: %d times, one was granted the lock while another held it", n)
	}
	if n := j.page.tokenErrors.Load(); n > 0 {
		disorder = fmt.Errorf("order is violated: %d times, a token was not larger than the one before", n)
	}
	return errors.Join(overlap, disorder)
}
