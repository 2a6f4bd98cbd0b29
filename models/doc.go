// Package models holds tests only: they check the protocol by which a majority of independent Redis servers hands out
// locks and tokens, as it is described in docs/redlock.md. The protocol is written down in fence.pml, and
// Spin goes through everything that can happen in it.
//
// The small sizes are checked by make long, in a minute. The large ones take hours and 16 GB of memory: make models.
package models
