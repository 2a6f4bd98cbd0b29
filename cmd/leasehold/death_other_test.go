//go:build unix && !linux

package main

const diesWithItsParent = false
