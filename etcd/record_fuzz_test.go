package etcd

import (
	"math"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leasehold-go/leasehold/driver"
)

// A value that no engine has written has no owner, and keeps all others out. What is decoded as a record is one that an
// engine can have written.
func FuzzRecords(f *testing.F) {
	for _, value := range []string{
		"", "2 30000 1 1 mark@5.4000 host:42 program", "3 1 2 5 mark ", "4 1 1 1 m x", "2 -1 1 1 m h",
		"2 1 9223372036854775807 9223372036854775807 m h", "2 9223372036854775807 1 1 m h",
		"2 1 1 1 m@8000000000000000.1 h", "2 1 1 1 @5.5 h", "2 1 1 1 m@5 h", "5 1 1 1 m h", "2 1 5 1 m h",
		"2 1 0 0 m h", "2 +1 +1 +1 m@+5.+5 h", "\xff 1 1 1 m h",
	} {
		f.Add([]byte(value), []byte("3 1 1 2 other h"))
	}
	f.Fuzz(func(t *testing.T, value, beside []byte) {
		rec := readRecord(value)
		if rec.weight < 1 || rec.weight > rec.size || rec.size > math.MaxInt32 || rec.ttl < 0 || rec.grace < 0 ||
			rec.session < 0 ||
			rec.session != 0 && rec.grace == 0 {
			t.Fatalf("%q became %+v", value, rec)
		}
		if rec.mark != "" {
			if again := readRecord(rec.encode()); again != rec {
				t.Fatalf("%q became %+v, and written anew %+v", value, rec, again)
			}
		}
		q := readQueue(
			[]*mvccpb.KeyValue{
				{Key: []byte("a"), CreateRevision: 1, Value: value},
				{Key: []byte("b"), CreateRevision: 2, Value: beside},
				{Key: []byte("c"), CreateRevision: 3, Value: []byte("2 1 1 1 mine h")},
			},
		)
		in := q.holderCount(driver.Lock)
		if in < 1 || in > 3 {
			t.Fatalf("%d of %+v are holders", in, q)
		}
		if _, holds := q.findOwned(driver.Lock, "mine"); holds {
			t.Fatalf("an exclusive entry behind %q and %q is a holder", value, beside)
		}
		used := 0
		for _, en := range q[:q.holderCount(driver.Semaphore)] {
			if used += en.weight; used > en.size {
				t.Fatalf("%d permits of %d are taken, of %+v", used, en.size, q)
			}
		}
	})
}
