package report

import (
	"slices"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Join makes one document of several runs on one machine, in this order. Its verdicts are not judged yet.
func Join(all ...*Document) *Document {
	d := *all[0]
	d.Verdicts = nil
	for _, more := range all[1:] {
		d.Command += "; " + more.Command
		d.Took += more.Took
		d.Results = append(d.Results, more.Results...)
		d.Growth = append(d.Growth, more.Growth...)
		for _, s := range more.Servers {
			if !slices.ContainsFunc(d.Servers, func(there servers.Info) bool { return there.Kind == s.Kind }) {
				d.Servers = append(d.Servers, s)
			}
		}
		for _, l := range more.Libraries {
			if !slices.ContainsFunc(d.Libraries, func(there Library) bool { return there.Name == l.Name }) {
				d.Libraries = append(d.Libraries, l)
			}
		}
	}
	return &d
}
