//go:build long && unix

package main

// onClusters are the folders of scripts that run on a Cluster: all that run on one server.
var onClusters = []string{"every", "redis"}
