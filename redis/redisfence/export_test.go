package redisfence

// Slot is slot for tests.
var Slot = slot
