//go:build unix && !long

package main

// onMore are the folders of scripts that run on engines other than sqlite and one Redis server, besides their own: none. What the command does hardly depends on
// the engine, so make long tries the rest.
var onMore []string

// allCommandsOn are the kinds of Redis on which all commands are tried. On the others those are that come first.
var allCommandsOn = []string{"user", "cluster"}
