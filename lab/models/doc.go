// Package models holds only tests. They check protocols that are written down as models: Spin goes through everything
// that can happen in them.
//
//   - fence.pml: how a majority of independent Redis servers grants locks and tokens
//     (docs/decisions/0020-a-quorum-over-whole-engines.md)
//   - pass.pml: how a holder there passes the name to the first waiter
//     (docs/decisions/0085-a-holder-passes-the-name-to-the-first-waiter.md)
//   - recall.pml: how a client keeps a lock after its release, and lets go of it when another asks
//     (docs/decisions/0084-a-released-lock-may-linger.md)
//
// The small sizes are checked by make long, in a minute. The large ones take hours and 16 GB of memory: make models.
package models
