//go:build long && unix

package main

// onMore are the folders of scripts that run on engines other than sqlite and one Redis server, besides their own: all that are for every engine.
var onMore = []string{"every"}

// allCommandsOn are the kinds of Redis on which all commands are tried: all that there are.
var allCommandsOn = []string{"one server", "password", "user", "socket", "sentinels", "cluster", "TLS"}
