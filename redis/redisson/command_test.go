package redisson_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// commandTest is a server, an engine on it, and commands with which the tests do what Redisson does.
type commandTest struct {
	*testing.T
	server *redisserver.Server
	engine *redisson.Engine
}

func newCommandTest(t *testing.T) commandTest {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	return commandTest{t, s, open(t, standalone(s))}
}

func (p commandTest) command(args ...string) any {
	p.Helper()
	answer, err := p.server.Command(args...)
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

// expect checks the answer of a command.
func (p commandTest) expect(want any, args ...string) {
	p.Helper()
	if got := p.command(args...); !reflect.DeepEqual(got, want) {
		p.Errorf("%s: %v, want %v", strings.Join(args, " "), got, want)
	}
}
