package databytes

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestDataIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "x", "\n", "1 2\n3", "\x00\xff"} {
		d, ok := Decode(Encode(driver.Data{Value: []byte(value), Token: driver.MaxToken, Number: 7}))
		if !ok || string(d.Value) != value || d.Token != driver.MaxToken || d.Number != 7 {
			t.Errorf("%q is read as %+v, %v", value, d, ok)
		}
	}
	for _, stored := range []string{"", "x", "1 2", "0 1\nx", "1\nx", "-1 2\nx", "one 2\nx"} {
		if d, ok := Decode([]byte(stored)); ok {
			t.Errorf("%q is read as %+v", stored, d)
		}
	}
}
