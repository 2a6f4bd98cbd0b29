// Package fencing tests the resource's side of fencing on real stores: PostgreSQL, SQLite and
// Redis.
package fencing
