package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/redis"
)

// holderVariable turns the test binary into a process that holds the lock "a" on the server with
// that address.
const holderVariable = "LEASEHOLD_TORTURE_HOLDER"

const holderTTL = 3 * time.Second

// holder reports the state of its lease when asked. It ends with its input.
func holder(address string) int {
	server := goredis.NewClient(&goredis.Options{Addr: address})
	e, err := redis.New(server, redis.WithoutFailoverGuard())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := leasehold.New(e).Mutex("a", leasehold.TTL(holderTTL)).Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := l.Context()
	fmt.Println("held")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		switch input.Text() {
		case "look":
			fmt.Println("lost:", ctx.Err() != nil && errors.Is(context.Cause(ctx), leasehold.ErrLost))
		case "release":
			fmt.Println("lost:", errors.Is(l.Release(), leasehold.ErrLost))
		}
	}
	return 0
}
