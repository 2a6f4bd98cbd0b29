// Package torture has tests that break what the library and its engines depend on: processes,
// servers, and the connections between them.
package torture
