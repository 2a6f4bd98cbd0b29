// Package simulator runs the engine against servers that exist only in its tests: in virtual time,
// with clocks of their own, under seeded schedules of faults. The engine, the client library and
// the scripts are the real ones; the servers know only the commands that the scripts use.
package simulator
