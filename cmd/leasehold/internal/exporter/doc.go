// Package exporter polls an engine, and serves what it finds to Prometheus. It is for programs that do not count
// anything themselves: everything here can be seen from outside.
//
// A scrape sends no request to the engine. It gets the result of the last poll, so many scrapers cost no more than one.
// What a poll could not find out is absent; no older value takes its place.
package exporter
