package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/asker"
	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/bench/internal/report"
	"github.com/leasehold-go/leasehold/bench/internal/work"
)

func main() {
	asker.Main(lib.Redis)
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// options are the flags.
type options struct {
	only  *regexp.Regexp
	short bool
	json  string
	check bool
	redis string
	cpu   string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Func("run", "run only what `REGEXP` finds in workload/library, as in free or crowd/leasehold", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	f.BoolVar(&o.short, "short", false, "run all within 90 seconds: fewer and shorter rounds")
	f.StringVar(&o.json, "json", "", "write everything to `FILE`, too")
	f.BoolVar(&o.check, "check", false, "exit with 1 if a target is missed")
	f.StringVar(&o.redis, "redis", "", "use the Redis at `ADDR` (host:port), and do not start one; its keys with \"leasehold-bench\" in them are deleted")
	f.StringVar(&o.cpu, "cpuprofile", "", "write a profile of the processor time of all rounds to `FILE`")
	err := f.Parse(args)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("bench: %q is not a flag: see -help", f.Arg(0))
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

// run returns the exit code: 1 for a library that failed, or a target that is missed, if that is to be
// checked; 2 for what kept the benchmark from running.
func run(ctx context.Context, args []string, out io.Writer) int {
	o, err := parse(args)
	switch {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	d, err := profiled(o.cpu, func() (*report.Document, error) { return measure(ctx, o) })
	if err != nil {
		log.Print(err)
		return 2
	}
	d.Print(out)
	if o.json != "" {
		if err := d.Write(o.json); err != nil {
			log.Print(err)
			return 2
		}
	}
	return code(d, o.check)
}

// code is the exit code of a run that came to its end.
func code(d *report.Document, check bool) int {
	if d.Failed() || check && d.Short() {
		return 1
	}
	return 0
}

// profiled runs f, and writes its profile to a file if one is named.
func profiled(path string, f func() (*report.Document, error)) (_ *report.Document, err error) {
	if path == "" {
		return f()
	}
	to, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		pprof.StopCPUProfile()
		if closed := to.Close(); err == nil {
			err = closed
		}
	}()
	if err := pprof.StartCPUProfile(to); err != nil {
		return nil, err
	}
	return f()
}

func measure(ctx context.Context, o options) (_ *report.Document, err error) {
	p, err := place.Open(ctx, o.redis)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := p.Close(); err == nil {
			err = closed
		}
	}()
	d := report.New(p)
	r := &work.Runner{
		Place: p, Short: o.short, Only: o.only, Log: log.Printf,
		Mark: "leasehold-bench-" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	var results []work.Result
	for _, w := range work.Redis {
		result, ran, err := r.Run(ctx, w)
		if err != nil {
			return nil, err
		}
		if ran {
			results = append(results, result)
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("-run %v finds nothing among workload/library, such as free/redsync", o.only)
	}
	d.Finish(results, work.RedisTargets, lib.Redis)
	return d, nil
}
