package exporter

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/shipped"
)

// Whatever the shipped rules and the dashboard ask of the exporter, it tells.
func TestWhatIsShippedAsksForWhatIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		uses, err := shipped.Read("../../../../deploy")
		if err != nil {
			t.Fatal(err)
		}
		w.fill()
		w.start()
		for _, m := range shipped.Exposition(w.get("/metrics").Body.String()).Missing(uses, "leasehold_") {
			t.Error(m)
		}
	})
}
