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

// inSection sets the section of workloads.
func inSection(section string, all []Workload) []Workload {
	all = slices.Clone(all)
	for i := range all {
		all[i].Section = section
	}
	return all
}
