//go:build unix

package cli

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exporter"
)

// defaultListen can be reached from this machine only.
const defaultListen = "127.0.0.1:9852"

func (a *app) exporter() *cobra.Command {
	listen, prefix := defaultListen, ""
	interval, timeout := period(15*time.Second), period(0)
	cmd := &cobra.Command{
		Use:   "exporter [flags]",
		Short: "Serve what can be seen on the engine to Prometheus",
		Long: `Serve what can be seen on the engine to Prometheus, on http://` + defaultListen + `/metrics:
locks held, waiters, leaks, and the health of nodes.

It polls the engine every --interval, and never because of a scrape. While the engine cannot be reached it goes
on, with leasehold_up 0.`,
		Example:           `  leasehold exporter --listen 127.0.0.1:9852 --interval 30s`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < period(time.Second) || interval > period(time.Hour) {
				return exit.Errorf(exit.Usage, "--interval %s is not allowed: it must be 1s to 1h",
					time.Duration(interval))
			}
			if !cmd.Flags().Changed("timeout") {
				timeout = period((time.Duration(interval) * 2 / 3).Truncate(time.Millisecond))
			}
			if timeout < period(100*time.Millisecond) || timeout > interval {
				return exit.Errorf(exit.Usage, "--timeout %s is not allowed: it must be 100ms to the interval, %s",
					time.Duration(timeout), time.Duration(interval))
			}
			return a.export(cmd, listen, &exporter.Watcher{
				Interval: time.Duration(interval), Timeout: time.Duration(timeout), Prefix: prefix, Log: a.say,
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "serve on `HOST:PORT`; nobody is asked for a password there")
	cmd.Flags().Var(&interval, "interval", "poll the engine this often")
	cmd.Flags().Var(&timeout, "timeout", "how long one poll may take (default two thirds of the interval)")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only names that begin with `TEXT`")
	return cmd
}

// export polls the engine and serves metrics until INT or TERM.
func (a *app) export(cmd *cobra.Command, listen string, w *exporter.Watcher) error {
	first, err := a.openWith(engine.OpenToExamine)
	if isWrong(err) {
		return err
	}
	w.Open = func() (*admin.Client, func(), error) {
		s := first
		if first = nil; s == nil {
			again, err := a.openWith(engine.OpenToExamine)
			if err != nil {
				return nil, nil, err
			}
			s = again
		}
		return s.admin(), s.closeSoon, nil
	}
	ctx, caught := interruptible(cmd.Context())
	defer caught()
	l, err := listenOn(ctx, listen)
	if err != nil {
		if first != nil {
			first.closeSoon()
		}
		return err
	}
	a.say("polls the engine every %s, and serves http://%s/metrics", w.Interval, l.Addr())
	defer w.Start()()
	if err := exporter.Serve(ctx, l, w); err != nil {
		return &exit.Error{Code: exit.Unavailable, Err: err}
	}
	return nil
}

// isWrong reports whether an engine can never be opened, as its URL is wrong. Other errors may pass.
func isWrong(err error) bool {
	coded, is := errors.AsType[*exit.Error](err)
	return is && (coded.Code == exit.Usage || coded.Code == exit.Config)
}

// listenOn listens on HOST:PORT. Without HOST it listens on all addresses of this machine.
func listenOn(ctx context.Context, address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return nil, exit.Errorf(exit.Usage,
			"--listen %q is not allowed: it must be HOST:PORT, such as %s (port 0 takes any that is free)", address,
			defaultListen)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exit.Errorf(exit.Unavailable,
			"--listen %s: another program has this port: end it, or say another port", address)
	case unknown, errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, exit.Errorf(exit.Usage, "--listen %q is not allowed: HOST must be an address of this machine",
			address)
	}
	return nil, exit.Errorf(exit.Unavailable, "--listen %s: %w", address, err)
}
