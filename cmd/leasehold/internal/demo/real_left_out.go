//go:build no_redis || no_servers

package demo

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
)

// ErrMissing means that there is no redis-server on this machine.
var ErrMissing = errors.New("no redis-server")

// RunOnServers fails: this build has no engine on Redis.
func RunOnServers(context.Context, []cases.Case, uint64) ([]draw.Figure, error) {
	return nil, &engine.MissingError{Engine: "redis", Tag: "no_redis"}
}
