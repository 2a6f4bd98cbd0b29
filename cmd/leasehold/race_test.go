//go:build race && long

package main

func init() { buildFlags = append(buildFlags, "-race") }
