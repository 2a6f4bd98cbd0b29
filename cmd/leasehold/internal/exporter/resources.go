package exporter

import (
	"strings"

	"github.com/leasehold-go/leasehold/admin"
)

// Resources that are not the label of a lock.
const (
	defaultResource = "default" // locks without a label
	otherResource   = "other"   // labels beyond the limits
)

// Limits of the label resource. Anybody who may take a lock can choose its value.
const (
	maxResources    = 100
	maxResourceName = 128 // bytes
)

// resources are the labels seen so far. The first ones keep their series, so that no series changes its name from one
// scrape to the next.
type resources struct{ seen map[string]bool }

// resourceOf returns the resource of a holder text.
func (r *resources) resourceOf(holder string) string {
	p, ok := admin.ParseHolder(holder)
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
