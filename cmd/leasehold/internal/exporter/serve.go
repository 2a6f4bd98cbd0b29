package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// farewell is how long scrapes that are under way have to end.
const farewell = 3 * time.Second

// Serve serves /metrics and /healthz on the listener until ctx ends, and then closes it. It returns an error only if it could not serve.
func Serve(ctx context.Context, l net.Listener, w *Watcher) error {
	server := &http.Server{
		Handler:           handler(w),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // whoever has not read its answer by now does not get it
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

const front = `<!DOCTYPE html>
<html lang="en">
<title>leasehold exporter</title>
<h1>leasehold exporter</h1>
<p><a href="metrics">Metrics</a> of the last look at the engine. <a href="healthz">Health</a> of this server.</p>
</html>
`

func handler(w *Watcher) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(to http.ResponseWriter, _ *http.Request) {
		if err := w.Stuck(); err != nil {
			http.Error(to, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(to, "ok") // one who does not listen is not told
	})
	mux.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(to, front)
	})
	return mux
}
