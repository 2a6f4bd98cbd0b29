//go:build unix && !long

package main

// onMore are the additional folders of scripts for engines other than sqlite and a single Redis server: none. The
// command hardly depends on the engine, so make long tries the rest.
var onMore []string

// allCommandsOn are the kinds of Redis on which all commands are tried. On the others, only the first ones are.
var allCommandsOn = []string{"user", "cluster"}
