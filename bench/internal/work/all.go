package work

import "slices"

// All are the workloads in the order in which they run.
var All = slices.Concat(
	under("one Redis server", Redis),
	under("a majority of five Redis servers", Five),
	under("PostgreSQL", Postgres),
	under("etcd", Etcd),
	under("ZooKeeper", ZooKeeper),
)

// under gives workloads their section.
func under(section string, all []Workload) []Workload {
	all = slices.Clone(all)
	for i := range all {
		all[i].Section = section
	}
	return all
}
