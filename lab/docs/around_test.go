package docs

import (
	"regexp"
	"strings"
)

const home = "github.com/leasehold-go/leasehold"

// packages are those that the examples use, by the names that they have there.
var packages = map[string]string{
	"leasehold": home, "admin": home + "/admin", "memory": home + "/memory", "fence": home + "/fence",
	"driver": home + "/driver", "drivertest": home + "/driver/drivertest",
	"sqlite": home + "/sqlite", "postgres": home + "/postgres", "etcd": home + "/etcd",
	"zookeeper": home + "/zookeeper", "once": home + "/once",
	"redis": home + "/redis", "redlock": home + "/redis/redlock", "redisfence": home + "/redis/redisfence",
	"pgxfence": home + "/postgres/pgxfence", "objects": home + "/redis/redisson/objects",
	"leaseholdprometheus": home + "/prometheus",
	"leaseholdotel":       home + "/otel",

	"goredis": "github.com/redis/go-redis/v9", "pgxpool": "github.com/jackc/pgx/v5/pgxpool",
	"pgx": "github.com/jackc/pgx/v5", "clientv3": "go.etcd.io/etcd/client/v3",
	"prometheus": "github.com/prometheus/client_golang/prometheus",

	"cron": "github.com/robfig/cron/v3", "gocron": "github.com/go-co-op/gocron/v2",

	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "sql": "database/sql",
	"strconv": "strconv", "log": "log",
	"synctest": "testing/synctest", "testing": "testing", "time": "time",
}

// around returns a file with what the text around the code of a page tells of.
func around(page string) string {
	text := everywhere + onPage[page]
	if !strings.Contains(text, "engine ") {
		text += "var engine driver.Engine\n"
	}
	var lines strings.Builder
	for name, path := range packages {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(text) {
			lines.WriteString("import " + name + " \"" + path + "\"\n")
		}
	}
	return "package code\n" + lines.String() + text
}

const everywhere = `
var (
	ctx    context.Context
	client *leasehold.Client
	lease  *leasehold.Lease
)

func use(context.Context, uint64) {}
`

var onPage = map[string]string{
	"CONTRIBUTING.md": `
		type server struct{}
		func (server) killAndStart(*testing.T) {}
		func startServer(*testing.T) (s server) { return s }
		func open(*testing.T, server) driver.Engine { return nil }
	`,
	"docs/engines/etcd.md": `
		var engine *etcd.Engine
		var cluster *clientv3.Client
	`,
	"docs/engines/postgres.md": `
		var engine *postgres.Engine
		var pool *pgxpool.Pool
		var tx pgx.Tx
		var errTooLittle error
		var job *once.Job
		var tick once.Tick
	`,
	"docs/engines/redis.md": `var rdb *goredis.Client
	`,
	"docs/fencing.md": `
		var pool *pgxpool.Pool
		var db *sql.DB
		var rdb *goredis.Client
		var marks fence.Table
		var mux *http.ServeMux
		var handler http.Handler
		func change(*fence.Guard) error { return nil }
		func nameOf(*http.Request) string { return "" }
	`,
	"docs/library.md": `
		var t *testing.T
		var order string
		var done chan error
		func ship(context.Context, string, uint64) error { return nil }
		func report(context.Context) error { return nil }
		func waitSeconds(string, float64) {}
		func lostTotal(string) {}
	`,
	"docs/once.md": `
		func report(context.Context, time.Time, uint64) error { return nil }
		func work(context.Context, *once.Work) error { return nil }
		func task() {}
	`,
	"docs/metrics.md": `
		var metrics *leaseholdprometheus.Metrics
		var db *sql.DB
		var mark fence.Mark
		var gate *fence.Gate
		var orders http.Handler
		func work(*fence.Guard) error { return nil }
		func name(*http.Request) string { return "" }
	`,
}
