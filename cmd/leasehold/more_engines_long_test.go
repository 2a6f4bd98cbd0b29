//go:build long && unix

package main

// onMore are the additional folders of scripts for engines other than sqlite and a single Redis server: all scripts for
// every engine.
var onMore = []string{"every"}

// allCommandsOn are the kinds of Redis on which all commands are tried: all kinds.
var allCommandsOn = []string{"one server", "password", "user", "socket", "sentinels", "cluster", "TLS"}
