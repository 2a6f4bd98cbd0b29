//go:build unix

package main

import (
	"fmt"
	"regexp"
)

// topic is a document that is a manual page, too.
type topic struct{ document, page string }

// topics are the documents that help texts refer to, and what else a user of the command needs.
var topics = []topic{
	{"docs/command.md", "leasehold-command"},
	{"docs/once.md", "leasehold-once"},
	{"docs/cron.md", "leasehold-crontab"},
	{"docs/demo.md", "leasehold-demo"},
	{"docs/doctor.md", "leasehold-doctor"},
	{"docs/exporter.md", "leasehold-exporter"},
	{"docs/top.md", "leasehold-top"},
	{"docs/which-lock.md", "leasehold-which-lock"},
	{"docs/promises.md", "leasehold-promises"},
	{"docs/fencing.md", "leasehold-fencing"},
	{"docs/fencing-sql.md", "leasehold-fencing-sql"},
	{"docs/redlock.md", "leasehold-redlock"},
	{"docs/redisson.md", "leasehold-redisson"},
	{"docs/engines/README.md", "leasehold-engines"},
	{"docs/engines/sqlite.md", "leasehold-sqlite"},
	{"docs/engines/redis.md", "leasehold-redis"},
	{"docs/engines/postgres.md", "leasehold-postgres"},
	{"docs/engines/etcd.md", "leasehold-etcd"},
	{"docs/engines/zookeeper.md", "leasehold-zookeeper"},
}

var named = regexp.MustCompile(`docs/[a-z0-9/-]+(?:README)?\.md`)

// refer replaces documents that a help text names by manual pages: whoever has a package has no folder docs. It also
// returns these pages.
func refer(text string) (replaced string, pages []string, err error) {
	replaced = named.ReplaceAllStringFunc(text, func(document string) string {
		for _, t := range topics {
			if t.document == document {
				pages = append(pages, t.page)
				return t.page + "(7)"
			}
		}
		err = fmt.Errorf("a help text names %s, which is no manual page: add it to topics.go", document)
		return document
	})
	return replaced, pages, err
}
