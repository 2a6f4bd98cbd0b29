package etcdserver

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil { // they mostly wait for servers
		panic(err)
	}
	os.Exit(m.Run())
}
