package main

// programs use the public modules, by their folders. Those with a main function take a lock and say "held"; the others
// are only compiled, since they need a server.
var programs = map[string]string{
	".": `package main

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold"
	_ "github.com/leasehold-go/leasehold/admin"
	_ "github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/memory"
)

func main() {
	client := leasehold.New(memory.New())
	lease, err := client.Mutex("name").Lock(context.Background())
	if err != nil {
		panic(err)
	}
	defer lease.Release()
	fmt.Println("held")
}
`,
	"sqlite": `package main

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/sqlite"
)

func main() {
	engine, err := sqlite.Open("locks.db")
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	lease, err := leasehold.New(engine).Mutex("name").Lock(context.Background())
	if err != nil {
		panic(err)
	}
	defer lease.Release()
	fmt.Println("held")
}
`,
	"redis": `package program

import (
	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/redis"
	_ "github.com/leasehold-go/leasehold/redis/redisfence"
	_ "github.com/leasehold-go/leasehold/redis/redisson/objects"
	_ "github.com/leasehold-go/leasehold/redis/redlock"
)

func client(e *redis.Engine) *leasehold.Client { return leasehold.New(e) }
`,
	"postgres":  engineProgram("postgres"),
	"etcd":      engineProgram("etcd"),
	"zookeeper": engineProgram("zookeeper"),
	"prometheus": `package program

import (
	_ "github.com/leasehold-go/leasehold"
	_ "github.com/leasehold-go/leasehold/prometheus"
)
`,
	"otel": `package program

import (
	_ "github.com/leasehold-go/leasehold"
	_ "github.com/leasehold-go/leasehold/otel"
)
`,
	"cmd/leasehold": "", // is installed
}

// engineProgram returns a program that makes a client of the engine in a folder.
func engineProgram(folder string) string {
	return `package program

import (
	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/` + folder + `"
)

func client(e *` + folder + `.Engine) *leasehold.Client { return leasehold.New(e) }
`
}
