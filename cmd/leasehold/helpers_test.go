//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cli"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
)

// helpers are programs that tests run under the command: this test binary, which LEASEHOLD_TEST_HELPER tells which one
// to be.
var helpers = map[string]func(){
	// foreground says whether its group is in the foreground of its terminal.
	"foreground": func() {
		group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		fmt.Println("foreground:", err == nil && group == unix.Getpgrp())
	},
	// patient is the command with clients that wait for the engine's answer for an hour.
	"patient": func() {
		os.Unsetenv("LEASEHOLD_TEST_HELPER")
		cli.RequestTimeout = time.Hour
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	},
	// configured is the command with the system's config file at LEASEHOLD_TEST_SYSTEM_FILE, which may belong to this
	// user.
	"configured": func() {
		os.Unsetenv("LEASEHOLD_TEST_HELPER")
		config.SystemFile, config.SystemOwner = os.Getenv("LEASEHOLD_TEST_SYSTEM_FILE"), os.Getuid()
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	},
	// thorough is the command with an UndoLimit of a minute.
	"thorough": func() {
		os.Unsetenv("LEASEHOLD_TEST_HELPER")
		cli.UndoLimit, cli.SameSignalWithin = time.Minute, time.Minute
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	},
	// sleeper says when it is continued, and does nothing else. It ignores SIGTERM.
	"sleeper": func() {
		signal.Ignore(unix.SIGTERM)
		sayWhenWoken()
		select {}
	},
	// talker says when it is continued, and repeats what it reads.
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
