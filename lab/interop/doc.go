// Package interop holds only tests: that leasehold and other lock clients of Redis exclude each other when
// they use the same key. It is a module of its own, so that nobody else gets those clients as dependencies.
package interop
