package work

import "slices"

// All lists the workloads in the order in which they run.
var All = slices.Concat(
	inSection("one Redis server", Redis),
	inSection("locks of Redisson", Redisson),
	inSection("a majority of five Redis servers", Five),
	inSection("PostgreSQL", Postgres),
	inSection("etcd", Etcd),
	inSection("ZooKeeper", ZooKeeper),
)

// GrowthSet is the name of the set that is no workloads, but what grows: see Runner.Grow.
const GrowthSet = "growth"

// Sets are workloads by the name of the set that runs together. Those of "long" take ten minutes.
var Sets = map[string][]Workload{
	"usual":   All,
	"long":    inSection("one Redis server for longer", Million),
	GrowthSet: {},
}

// inSection sets the section of workloads.
func inSection(section string, all []Workload) []Workload {
	all = slices.Clone(all)
	for i := range all {
		all[i].Section = section
	}
	return all
}
