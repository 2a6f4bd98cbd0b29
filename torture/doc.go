// Package torture has tests that break what the library and an engine stand on together: their processes, their servers, and the
// connections between them.
package torture
