package exporter

import (
	"testing"

	"github.com/prometheus/common/model"

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
		var exposed []model.Metric
		for _, s := range w.samples() {
			exposed = append(exposed, s.Metric)
		}
		for _, m := range deployfiles.SeriesOf(exposed).Missing(uses, "leasehold_") {
			t.Error(m)
		}
	})
}
