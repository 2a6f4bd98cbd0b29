package redisson

import (
	"flag"
	"os"
	"testing"

	"github.com/leasehold-go/leasehold/lab/redisson/goside"
)

func TestMain(m *testing.M) {
	goside.Main()
	flag.Parse()
	if err := flag.Set("test.parallel", "48"); err != nil { // the tests hardly do anything but wait
		panic(err)
	}
	os.Exit(m.Run())
}
