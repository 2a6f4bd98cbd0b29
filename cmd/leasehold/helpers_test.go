//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// helpers are programs that tests run under the command: this test binary, told which by
// LEASEHOLD_TEST_HELPER.
var helpers = map[string]func(){
	// foreground says whether its group is in the foreground of its terminal.
	"foreground": func() {
		group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		fmt.Println("foreground:", err == nil && group == unix.Getpgrp())
	},
	// sleeper says when it is woken, and does nothing else. It ignores SIGTERM.
	"sleeper": func() {
		signal.Ignore(unix.SIGTERM)
		sayWhenWoken()
		select {}
	},
	// talker says when it is woken, and repeats what it reads.
	"talker": func() {
		sayWhenWoken()
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			fmt.Println("read", s.Text())
		}
	},
}

func sayWhenWoken() {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, unix.SIGCONT)
	go func() {
		for range woken {
			fmt.Println("woken")
		}
	}()
	fmt.Println("child of", os.Getppid(), "is ready")
}
