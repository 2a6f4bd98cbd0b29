package driver

import "time"

// Vote is what one node says about a key.
type Vote struct {
	// Node is the name of the node, as in "10.0.0.1:6379".
	Node string
	// Holders are the holders of the key on this node, ordered by token. An owner with fewer than a
	// majority of the nodes holds nothing: it is about to get the others, or to give up. An owner
	// that was granted the key late may have another token on this node.
	Holders []Holder
	// Closed is roughly how much longer the node grants nothing to anybody, because it was
	// restarted and may have forgotten leases; 0 if it grants.
	Closed time.Duration
	// Err says why nothing is known about the node; nil if something is. It is an ErrSilent if the
	// node did not answer in time.
	Err error
}
