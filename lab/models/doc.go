// Package models holds only tests. They check the protocol by which a majority of independent Redis servers
// grants locks and tokens, as docs/decisions/0020-a-quorum-over-whole-engines.md describes it. The protocol is written
// down in fence.pml, and Spin goes through everything that can happen in it.
//
// The small sizes are checked by make long, in a minute. The large ones take hours and 16 GB of memory: make models.
package models
