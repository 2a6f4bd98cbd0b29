// Package redisson holds only tests: that a real Redisson does on a server what package redis/redisson relies on. The
// folder java has the program that drives Redisson, and package javaside starts it. It is a module of its own, as it
// needs Java and Maven: "make redisson" installs both, builds the program, and runs the tests.
package redisson
