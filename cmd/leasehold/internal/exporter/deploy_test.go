package exporter

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/deployfiles"
)

// The exporter has all metrics that the alert rules and the dashboard ask for.
func TestDeployFilesUseMetricsOfTheExporter(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		uses, err := deployfiles.Read("../../../../deploy")
		if err != nil {
			t.Fatal(err)
		}
		w.fill()
		w.start()
		for _, m := range deployfiles.Exposition(w.get("/metrics").Body.String()).Missing(uses, "leasehold_") {
			t.Error(m)
		}
	})
}
