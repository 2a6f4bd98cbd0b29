// Package docs holds only tests: that the commands in the documents run, and that the Go code in them compiles. It is a
// module of its own, since the documents use all modules.
//
// A block of code that cannot be tested has a comment before it, which readers do not see, with the reason:
//
//	<!-- not tested: REASON -->
//
// The tests list what ran and what was left out, and fail if more is left out than they allow.
package docs
