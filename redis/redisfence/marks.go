package redisfence

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
)

// DefaultPrefix stands before a name in the key of its mark, unless [Marks] have another prefix.
const DefaultPrefix = "fence:"

// Marks keep the marks of a fence.Gate in Redis, each in a key of its own. They are safe for concurrent use.
type Marks struct {
	Client redis.UniversalClient
	Prefix string // of the keys; "" stands for DefaultPrefix
}

// Raise implements fence.Marks. Errors are those of the function [Raise].
func (m Marks) Raise(ctx context.Context, name string, token uint64) error {
	if err := fence.Valid(name, token); err != nil {
		return err
	}
	prefix := m.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	_, err := Raise(ctx, m.Client, Mark{Key: prefix + name}, token)
	return err
}
