// Package fencing has tests of the resource's side on real stores: PostgreSQL, SQLite and Redis.
package fencing
