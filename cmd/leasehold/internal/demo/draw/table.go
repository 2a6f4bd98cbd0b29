package draw

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Table writes one line for each case: how many updates were lost on either side.
func Table(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LOST UPDATES\tWITHOUT\tWITH LEASEHOLD")
	for _, f := range figures {
		fmt.Fprintf(t, "%s  %s\t%s\t%s\n", f.Letter, f.Title, lost(f.Without.Result), lost(f.With.Result))
	}
	return t.Flush()
}

// lost returns the number of lost updates. A client that hangs has written nothing that could be lost.
func lost(v timeline.Result) string {
	if v.Hung > 0 {
		return "hangs"
	}
	return strconv.Itoa(v.Lost)
}
