// Command etcdclock is an etcd server whose wall clock is ahead by the number of seconds in the file that CLOCK_SHIFT
// names. It is compiled with a time.WallShift that time.Now adds. It says what its clock shows after each change.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	go followClock(os.Getenv("CLOCK_SHIFT"))
	etcdmain.Main(os.Args)
}

func followClock(file string) {
	for ; ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		ahead, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && ahead != time.WallShift {
			time.WallShift = ahead
			fmt.Fprintf(os.Stderr, "ahead by %d the clock shows %d\n", ahead, time.Now().Unix())
		}
	}
}
