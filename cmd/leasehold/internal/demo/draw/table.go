package draw

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// Table writes one line for each case: how many updates were lost on either side.
func Table(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LOST UPDATES\tWITHOUT\tWITH LEASEHOLD")
	for _, f := range figures {
		fmt.Fprintf(t, "%s  %s\t%s\t%s\n", f.Letter, f.Title, lost(f.Without.Verdict), lost(f.With.Verdict))
	}
	return t.Flush()
}

// lost is the number of updates that were lost. Who hangs has not even come to write.
func lost(v tape.Verdict) string {
	if v.Hung > 0 {
		return "hangs"
	}
	return strconv.Itoa(v.Lost)
}
