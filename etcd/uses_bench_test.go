package etcd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// BenchmarkUses takes and releases one name that was used before, a few times or many, on a server that compacts
// nothing. Both cost the same.
func BenchmarkUses(b *testing.B) {
	for _, uses := range []int{10, 10_000} {
		b.Run(fmt.Sprint(uses), func(b *testing.B) {
			_, e := benchServer(b)
			pair := func() {
				r := newRequest("name")
				r.TTL, r.Join = 30*time.Second, true
				h := holdOf(r)
				g, err := e.Take(b.Context(), r)
				if err == nil {
					h.Token = g.Token
					err = e.Release(b.Context(), driver.Release{Hold: h})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for range uses {
				pair()
			}
			for b.Loop() {
				pair()
			}
		})
	}
}
