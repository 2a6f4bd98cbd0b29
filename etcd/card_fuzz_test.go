package etcd

import (
	"math"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leasehold-go/leasehold/driver"
)

// What no engine has written is nobody's, and shuts all others out; what is read as a place is one that an engine can have written.
func FuzzCards(f *testing.F) {
	for _, value := range []string{
		"", "2 30000 1 1 mark@5.4000 host:42 program", "3 1 2 5 mark ", "4 1 1 1 m x", "2 -1 1 1 m h", "2 1 9223372036854775807 9223372036854775807 m h", "2 9223372036854775807 1 1 m h", "2 1 1 1 m@8000000000000000.1 h",
		"2 1 1 1 @5.5 h", "2 1 1 1 m@5 h", "5 1 1 1 m h", "2 1 5 1 m h", "2 1 0 0 m h", "2 +1 +1 +1 m@+5.+5 h", "\xff 1 1 1 m h",
	} {
		f.Add([]byte(value), []byte("3 1 1 2 other h"))
	}
	f.Fuzz(func(t *testing.T, value, beside []byte) {
		c := readCard(value)
		if c.weight < 1 || c.weight > c.size || c.size > math.MaxInt32 || c.ttl < 0 || c.grace < 0 || c.session < 0 || c.session != 0 && c.grace == 0 {
			t.Fatalf("%q became %+v", value, c)
		}
		if c.mark != "" {
			if again := readCard(c.bytes()); again != c {
				t.Fatalf("%q became %+v, and written anew %+v", value, c, again)
			}
		}
		l := readLine([]*mvccpb.KeyValue{{Key: []byte("a"), CreateRevision: 1, Value: value}, {Key: []byte("b"), CreateRevision: 2, Value: beside}, {Key: []byte("c"), CreateRevision: 3, Value: []byte("2 1 1 1 mine h")}})
		in := l.inside(driver.Lock)
		if in < 1 || in > 3 {
			t.Fatalf("%d of %+v are inside", in, l)
		}
		if _, holds := l.owned(driver.Lock, "mine"); holds {
			t.Fatalf("an exclusive place behind %q and %q holds", value, beside)
		}
		used := 0
		for _, p := range l[:l.inside(driver.Semaphore)] {
			if used += p.weight; used > p.size {
				t.Fatalf("%d permits of %d are taken, of %+v", used, p.size, l)
			}
		}
	})
}
