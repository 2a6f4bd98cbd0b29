//go:build unix

package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// If leasehold loses an update or lets a client hang, the exit code is 1 in all forms of output.
func TestDemoReportsAFault(t *testing.T) {
	t.Parallel()
	var figures []draw.Figure
	for _, c := range cases.All {
		figures = append(figures, demo.Simulate(c, 1))
	}
	figures[3].With.Lost, figures[4].With.Hung = 1, 1
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{out: &out}
		err := a.reportDemo(demoOptions{cases: cases.All, seed: 1, json: json}, figures)
		if coded, ok := errors.AsType[*exit.Error](err); !ok || coded.Code != exit.No ||
			!strings.Contains(err.Error(), "case d, e:") {
			t.Errorf("it ends with %v", err)
		}
		if !strings.Contains(out.String(), "The master dies") {
			t.Error("the pictures are missing")
		}
		if err := a.reportDemo(demoOptions{cases: cases.All[:1], seed: 1, json: json}, figures[:1]); err != nil {
			t.Errorf("without a fault it ends with %v", err)
		}
	}
}
