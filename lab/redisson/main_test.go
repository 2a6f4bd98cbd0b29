package redisson

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // the tests hardly do anything but wait
		panic(err)
	}
	os.Exit(m.Run())
}
