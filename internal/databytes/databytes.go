// Package databytes writes the data of a lock as bytes, for engines whose servers keep one value for each key.
package databytes

import (
	"bytes"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

// Encode returns data as it is stored: token and number, a line break, and the value.
func Encode(d driver.Data) []byte { return fmt.Appendf(nil, "%d %d\n%s", d.Token, d.Number, d.Value) }

// Decode reads what Encode has written. It reports false for anything else.
func Decode(stored []byte) (d driver.Data, ok bool) {
	head, value, found := bytes.Cut(stored, []byte("\n"))
	if _, err := fmt.Sscanf(string(head), "%d %d", &d.Token, &d.Number); err != nil || !found || d.Token == 0 {
		return driver.Data{}, false
	}
	d.Value = value
	return d, true
}
