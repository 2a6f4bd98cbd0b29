// Package report holds the results of a run: a document that can be printed, or written as JSON.
package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// Document is one run.
type Document struct {
	Command   string         `json:"command"`
	Began     time.Time      `json:"began"`
	Took      time.Duration  `json:"took_ns"`
	Machine   Machine        `json:"machine"`
	Servers   []servers.Info `json:"servers"`
	Libraries []Library      `json:"libraries"`
	Results   []work.Result  `json:"results"`
	Verdicts  []work.Verdict `json:"verdicts"`
	Growth    []work.Growth  `json:"growth,omitempty"`
}

// Machine is the machine on which it ran.
type Machine struct {
	System     string `json:"system"`
	Go         string `json:"go"`
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
}

// Library is a library that took part.
type Library struct {
	Name    string       `json:"name"`
	Module  string       `json:"module"`
	Version string       `json:"version"`
	On      servers.Kind `json:"on"`
	Config  string       `json:"config"`
}

// New returns a document without results.
func New() *Document {
	return &Document{
		Command: strings.TrimSpace("go run ./lab/bench " + strings.Join(os.Args[1:], " ")),
		Began:   time.Now(),
		Machine: Machine{
			System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
			Processor: processor(), Processors: runtime.GOMAXPROCS(0),
		},
	}
}

// Finish adds the results, and the servers on which they were measured. It lists only libraries
// that took part.
func (d *Document) Finish(
	results []work.Result, infos []servers.Info, targets []work.Target, libraries []lib.Library,
) {
	d.Took = time.Since(d.Began)
	d.Results = results
	d.Servers = infos
	d.Verdicts = work.Judge(targets, results)
	versions := versions()
	for _, l := range libraries {
		if slices.ContainsFunc(results, func(r work.Result) bool { return r.Has(l.Name) }) {
			version := cmp.Or(l.Version, versions[l.Module])
			d.Libraries = append(d.Libraries, Library{l.Name, l.Module, version, l.On, l.Config})
		}
	}
}

// Failed reports whether a library did something wrong.
func (d *Document) Failed() bool {
	for _, r := range d.Results {
		if len(r.Failures) > 0 {
			return true
		}
	}
	for _, g := range d.Growth {
		if g.Failed != "" {
			return true
		}
	}
	return false
}

// Short reports whether a target was missed.
func (d *Document) Short() bool {
	for _, v := range d.Verdicts {
		if !v.Pass {
			return true
		}
	}
	for _, g := range d.Growth {
		if slices.ContainsFunc(g.Points, work.Point.Short) {
			return true
		}
	}
	return false
}

// Write writes the document to a file, as JSON.
func (d *Document) Write(path string) error {
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads a document that Write has written.
func Read(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s was not written by -json: %w", path, err)
	}
	return d, nil
}

// versions returns the versions of the modules that this program was built from.
func versions() map[string]string {
	all := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return all
	}
	for _, m := range append(info.Deps, &info.Main) {
		all[m.Path] = m.Version
		if m.Replace != nil || m.Version == "(devel)" {
			all[m.Path] = "this tree"
		}
	}
	return all
}

// processor returns the name of the processor, or an empty string if the system does not tell.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if field, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(field) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
