package zookeeper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
)

// Whatever nodes a neighbour creates among the entries of a name, and whatever it writes into them, no engine crashes,
// hangs, or believes that it holds, and all other names are listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	add := hostile.Seeds(f)
	s := ownServer(f)
	a, b := openAt(f, s), openAt(f, s)
	conn, _, err := zk.Connect([]string{s.Addr()}, time.Minute, zk.WithLogger(discardLog{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(conn.Close)
	for i, node := range []string{
		"x", "w-1-1-a-b-0000000001", "kw-1-1-a-b-0000000000", "kw-1-1-a-b-2147483647", "r-1-1-a-b--000000001",
		"p-9223372036854775807-9223372036854775807-a-b-0000000000", "p-0-0-a-b-0000000003",
		"w-1-1-a-b-99999999999", "w-1-1-a-b--2147483648", "p--5-5-a-b-0000000001", "w-1-1---1",
		"q-1-1-a-b-0000000001", "kp-3-5-a-b-0000000000", "%zz",
	} {
		for j, data := range []string{
			"", "{",
			`{"holder":"x","ttl":9223372036854775807,"token":18446744073709551615}`,
			`{"ttl":-9223372036854775808,"token":0,"shared":true}`,
		} {
			add(uint8(i+j), uint8(j), node, data)
		}
	}
	round := 0
	f.Fuzz(func(t *testing.T, state, form uint8, node, data string) {
		round++
		name := fmt.Sprint("bad ", round)
		node = strings.ReplaceAll(strings.ReplaceAll(node, "/", ""), "\x00", "")
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: name, Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(string) {
				for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
					parent := a.nameNode(driver.Key{Kind: kind, Name: name})
					_, _ = conn.Create(parent, []byte(data), 0, zk.WorldACL(zk.PermAll))
					if form%2 == 0 {
						_, _ = conn.Create(parent+"/"+node, []byte(data), 0, zk.WorldACL(zk.PermAll))
					}
					entries, _, _ := conn.Children(parent)
					for _, p := range entries {
						if form%3 > 0 {
							_, _ = conn.Set(parent+"/"+p, []byte(data), -1)
						}
						if form%4 == 3 {
							_, _ = conn.Create(parent+"/"+p+"/"+node, nil, 0, zk.WorldACL(zk.PermAll))
						}
					}
				}
			},
		})
		for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} { // otherwise the next ones list all of them
			remove(conn, a.nameNode(driver.Key{Kind: kind, Name: name}))
		}
	})
}

// remove removes a node and everything below.
func remove(conn *zk.Conn, path string) {
	below, _, _ := conn.Children(path)
	for _, node := range below {
		remove(conn, path+"/"+node)
	}
	_ = conn.Delete(path, -1)
}

type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

// All engines see the entries in the same order, whatever nodes exist and in whatever order the server lists them, or
// none of them sees an order.
func FuzzQueueOrder(f *testing.F) {
	f.Add(int32(5), int32(7), int32(math.MinInt32+5), int32(0), uint8(0))
	f.Add(int32(5), int32(7), int32(math.MinInt32+6), int32(6), uint8(3))
	f.Add(int32(math.MaxInt32), int32(math.MinInt32), int32(math.MinInt32+1), int32(math.MaxInt32-1), uint8(7))
	f.Add(int32(0), int32(1<<30), int32(math.MinInt32), int32(-1<<30), uint8(11))
	f.Add(int32(0), int32(0), int32(0), int32(math.MinInt32), uint8(11))
	f.Fuzz(func(t *testing.T, a, b, c, d int32, modes uint8) {
		var names []string
		for i, seq := range []int32{a, b, c, d} {
			mode := []byte{exclusive, shared}[modes>>i&1]
			names = append(names, fmt.Sprintf("%s%010d", namePrefix(mode, 1, 1, fmt.Sprint("id", i), "n"), seq))
		}
		var first []queueEntry
		for i := range 24 {
			some := slices.Clone(names)
			for j, n := len(some)-1, i; j > 0; j-- { // the i-th order
				k := n % (j + 1)
				n /= j + 1
				some[j], some[k] = some[k], some[j]
			}
			entries, err := sortQueue(some)
			if i == 0 {
				if first = entries; err != nil {
					first = nil
				}
				continue
			}
			if (err == nil) != (first != nil) || err == nil && !slices.Equal(entries, first) {
				t.Fatalf("%q are %+v in one order, and %+v, %v in another", some, first, entries, err)
			}
		}
	})
}
