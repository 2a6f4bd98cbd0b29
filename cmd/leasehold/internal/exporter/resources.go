package exporter

import (
	"strings"

	"github.com/leasehold-go/leasehold"
)

// Names of resources that are not the label of a lock.
const (
	defaultResource = "default" // of locks without a label
	otherResource   = "other"   // of all those for which there is no room
)

// Bounds of the values of the label resource, which anybody who may take a lock chooses.
const (
	maxResources    = 100
	maxResourceName = 128 // bytes
)

// resources are the classes of locks that were seen. The first ones that come keep their place, so that a series does not turn into
// another one from one scrape to the next.
type resources struct{ seen map[string]bool }

// of returns the resource for a holder's text.
func (r *resources) of(holder string) string {
	p, ok := leasehold.ParseHolder(holder)
	if !ok || p.Label == "" {
		return defaultResource
	}
	label := strings.ToValidUTF8(p.Label, "\uFFFD")
	switch {
	case r.seen[label]:
		return label
	case len(r.seen) >= maxResources || len(label) > maxResourceName:
		return otherResource
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[label] = true
	return label
}
