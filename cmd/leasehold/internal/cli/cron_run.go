//go:build unix

package cli

import (
	"context"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cron"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exporter"
)

// runJobs runs jobs until a signal comes.
func (a *app) runJobs(ctx context.Context, file string, jobs []crontab.Job, listen string, grace time.Duration) error {
	url, err := a.engineOfJobs()
	if err != nil {
		return err
	}
	path, err := os.Executable()
	if err != nil {
		return exit.Errorf(exit.CannotRun, "the path of this program is not known: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &cron.Runner{
		Jobs: jobs, Grace: grace, Hurry: a.endBySignals(ctx, cancel, grace), Log: a.say,
		Start: cron.StartRun(path, []string{config.EngineVariable + "=" + url}),
	}
	if listen != "" {
		l, err := listenOn(ctx, listen)
		if err != nil {
			return err
		}
		r.Metrics = cron.NewMetrics(jobs)
		defer a.serveMetrics(l, r.Metrics)()
	}
	a.say("runs the %d jobs of %s", len(jobs), file)
	r.Run(ctx)
	return nil
}

// engineOfJobs returns the URL of the engine. It refuses engines that cannot run jobs, and does not mind if the engine
// cannot be reached now.
func (a *app) engineOfJobs() (url string, err error) {
	s, err := a.open()
	switch {
	case isWrong(err):
		return "", err
	case err != nil:
		a.say("%v: each job tries again", err)
		url, _, err = a.engineURL()
		return url, err
	}
	defer s.closeSoon()
	return s.url, checkKeepsData(s.engine, a.abilities)
}

// endBySignals calls end at the first signal, and closes the channel that it returns at the second one.
func (a *app) endBySignals(ctx context.Context, end func(), grace time.Duration) (hurry <-chan struct{}) {
	signals, second := make(chan os.Signal, 2), make(chan struct{})
	catch(signals, []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP})
	go func() { // ends with this process at the latest
		select {
		case <-signals:
			a.say("told to end: what runs may go on for %s; a second signal ends it at once", grace)
			end()
		case <-ctx.Done():
			return
		}
		<-signals
		close(second)
	}()
	return second
}

// serveMetrics serves metrics until the function that it returns is called.
func (a *app) serveMetrics(l net.Listener, m *cron.Metrics) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := exporter.ServeHandler(ctx, l, m.Handler()); err != nil {
			a.say("%v", err)
		}
	}()
	a.say("serves http://%s/metrics", l.Addr())
	return func() {
		cancel()
		<-served
	}
}
