package etcd

// MarkOf is how an owner appears in the values of its keys.
var MarkOf = markOf
