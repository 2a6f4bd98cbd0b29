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

// shutdownTimeout is how long scrapes in flight may take to end.
const shutdownTimeout = 3 * time.Second

// Serve serves /metrics and /healthz on the listener until ctx ends, and then closes it. It returns an error only if
// serving has failed.
func Serve(ctx context.Context, l net.Listener, w *Watcher) error {
	return ServeHandler(ctx, l, handler(w))
}

// ServeHandler is Serve for a handler.
func ServeHandler(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
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
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // a client that has not read its answer by now does not get it
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

const indexPage = `<!DOCTYPE html>
<html lang="en">
<title>leasehold exporter</title>
<h1>leasehold exporter</h1>
<p><a href="metrics">Metrics</a> of the last poll of the engine. <a href="healthz">Health</a> of this server.</p>
</html>
`

func handler(w *Watcher) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(to http.ResponseWriter, _ *http.Request) {
		if err := w.CheckStuck(); err != nil {
			http.Error(to, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(to, "ok") // the client may be gone
	})
	mux.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(to, indexPage)
	})
	return mux
}
