// Package simulator lets the engine run against servers that exist only in its tests: in virtual time, with clocks of their own, under seeded schedules of what goes
// wrong. The engine, the client library and the scripts are the real ones; the servers know just those commands that the scripts use.
package simulator
