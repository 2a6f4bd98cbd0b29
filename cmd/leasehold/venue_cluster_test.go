//go:build unix && !long

package main

// onClusters are the folders of scripts that run on a Cluster: those about the servers. make long runs all, most of which find nothing that they do not find
// on one server and in TestAllCommandsOnRedis.
var onClusters = []string{"redis"}
