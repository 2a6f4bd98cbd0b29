package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/busy"
	"github.com/leasehold-go/leasehold/lab/bench/internal/contender"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/page"
	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func main() {
	contender.Main(lib.All)
	busy.Main()
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// options are the command's flags.
type options struct {
	only    *regexp.Regexp
	skip    *regexp.Regexp
	short   bool
	set     string
	json    string
	check   bool
	redis   string
	cpu     string
	from    string
	page    string
	section string
	figures string
	compare string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Func("run", "run only what `REGEXP` finds in workload/library, as in free or crowd/leasehold",
		func(text string) (err error) {
			o.only, err = regexp.Compile(text)
			return err
		})
	f.Func("skip", "run nothing that `REGEXP` finds in workload/library",
		func(text string) (err error) {
			o.skip, err = regexp.Compile(text)
			return err
		})
	f.BoolVar(&o.short, "short", false, "run all within three minutes: fewer and shorter rounds")
	f.StringVar(&o.set, "set", "usual", "run the workloads of this `SET`: usual, long, or growth")
	f.StringVar(&o.json, "json", "", "write everything to `FILE`, too")
	f.BoolVar(&o.check, "check", false, "exit with 1 if a target is missed")
	f.StringVar(&o.redis, "redis", "",
		"use the Redis at `ADDR` (host:port), and do not start one; its keys with \"leasehold-bench\" in them are "+
			"deleted")
	f.StringVar(&o.cpu, "cpuprofile", "", "write a profile of the processor time of all rounds to `FILE`")
	f.StringVar(&o.from, "from", "",
		"run nothing, and take the figures from `FILE`, which -json has written on this machine or another; or from "+
			"several, with commas")
	f.StringVar(&o.page, "page", "",
		"write the figures as a document to `FILE` (Markdown), and plots to the folder plots beside it")
	f.StringVar(&o.section, "section", "",
		"write the most important figures of Redisson's locks into `FILE`, a document with a place for them")
	f.StringVar(&o.figures, "figures", "",
		"with -page, write the tables of all figures to `FILE` instead, and with -section there, too")
	f.StringVar(&o.compare, "compare", "",
		"say which ratios differ by more than 15 % from those in `FILE`, and exit with 1 if those of targets do")
	err := f.Parse(args)
	if err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("bench: %q is not a flag: see -help", f.Arg(0))
	case work.Sets[o.set] == nil:
		err = fmt.Errorf("bench: there is no set %q: see -help", o.set)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

// run returns the exit code: 1 if a library failed, or missed a target with -check; 2 if the
// benchmark itself could not run.
func run(ctx context.Context, args []string, out io.Writer) int {
	o, err := parse(args)
	switch {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	var other *report.Document
	if o.compare != "" {
		if other, err = read(o.compare); err != nil { // fail early, not after minutes
			log.Print(err)
			return 2
		}
	}
	d, err := document(ctx, o)
	if err != nil {
		log.Print(err)
		return 2
	}
	d.Print(out)
	if o.json != "" {
		err = d.Write(o.json)
	}
	if o.page != "" {
		err = errors.Join(err, page.Write(d, o.page, o.figures))
	}
	if o.section != "" {
		err = errors.Join(err, page.WriteSection(d, o.section, o.figures))
	}
	if err != nil {
		log.Print(err)
		return 2
	}
	agrees := true
	if other != nil {
		pairs := report.Compare(d, other)
		report.PrintPairs(out, pairs)
		agrees = report.Agree(pairs)
	}
	return code(d, o.check, agrees)
}

// code is the exit code of a run that has finished.
func code(d *report.Document, check, agrees bool) int {
	if d.Failed() || check && d.Short() || !agrees {
		return 1
	}
	return 0
}

// document measures, or reads an earlier measurement.
func document(ctx context.Context, o options) (*report.Document, error) {
	if o.from != "" {
		return read(o.from)
	}
	return profiled(o.cpu, func() (*report.Document, error) { return measure(ctx, o) })
}

// read returns an earlier measurement, compared with today's targets.
func read(path string) (*report.Document, error) {
	var all []*report.Document
	for one := range strings.SplitSeq(path, ",") {
		d, err := report.Read(one)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	d := report.Join(all...)
	d.Verdicts = work.Judge(work.Targets, d.Results)
	return d, nil
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
	pool := servers.New(o.redis)
	defer func() {
		if closed := pool.Close(); err == nil {
			err = closed
		}
	}()
	d := report.New()
	r := &work.Runner{
		Pool: pool, Short: o.short, Only: o.only, Skip: o.skip, Log: log.Printf,
		Mark: "leasehold-bench-" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	var results []work.Result
	for _, w := range work.Sets[o.set] {
		result, ran, err := r.Run(ctx, w)
		if err != nil {
			return nil, err
		}
		if ran {
			results = append(results, result)
		}
	}
	if o.set == work.GrowthSet {
		largest, each := math.MaxInt, 2*time.Second
		if o.short {
			largest, each = 1000, time.Second/5
		}
		if d.Growth, err = r.Grow(ctx, largest, each); err != nil {
			return nil, err
		}
	}
	if len(results)+len(d.Growth) == 0 {
		return nil, fmt.Errorf("-run %v finds nothing among workload/library, such as free/redsync", o.only)
	}
	d.Finish(results, pool.Infos(), work.Targets, lib.All)
	return d, nil
}
