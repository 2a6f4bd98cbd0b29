// Command v3.6 is an etcd server of that version, for tests that need a newer one than the system has. It is a module
// of its own that go.work does not list, so that nobody downloads a server without wanting one. scripts/build-etcd.sh
// builds it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
