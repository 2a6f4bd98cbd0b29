// Package exporter looks at an engine now and then, and serves what it sees to Prometheus. It is for those whose programs count nothing
// themselves: everything here can be seen from outside.
//
// A scrape never asks the engine: it is told what the last look has found, so that many scrapers cost no more than one. What a look could
// not find out is left out, and never told from memory.
package exporter
