package etcd_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/etcd"
)

// An engine on a cluster of three members, for leasehold.New. All programs that use the same cluster and prefix share
// its locks.
func ExampleOpen() {
	engine, err := etcd.Open("etcd://h1:2379,h2:2379,h3:2379")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	// client := leasehold.New(engine)
	fmt.Println(engine.Abilities().Name)
	// Output: etcd
}

// An engine that works with a client of the program's own.
func ExampleNew() {
	cluster, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{"h1:2379", "h2:2379", "h3:2379"},
		DialKeepAliveTime:    10 * time.Second, // leave a member that hangs
		DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	engine, err := etcd.New(cluster, etcd.WithPrefix("shop/locks/"))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() // before the client
}

// A transaction of the program's own that writes only while the lock is held, even if the process was paused
// meanwhile.
func ExampleEngine_Guard() {
	publish := func(ctx context.Context, cluster *clientv3.Client, engine *etcd.Engine, lease etcd.Lease) error {
		mine, err := engine.Guard(lease)
		if err != nil {
			return err
		}
		t, err := cluster.Txn(ctx).If(mine).Then(clientv3.OpPut("report", "all is well")).Commit()
		if err == nil && !t.Succeeded {
			err = fmt.Errorf("the lock %q was lost before the report was written", lease.Name())
		}
		return err
	}
	_ = publish
}
