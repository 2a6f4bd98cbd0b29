//go:build unix && !linux

package main

// keepMemoryPrivate does nothing: these systems offer no such way. See docs/command.md for what a user can do.
func keepMemoryPrivate() {}
