package redis

import (
	"cmp"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

var urlSyntax = engineurl.Syntax[target]{
	Engine: "redis",
	Schemes: []string{
		"redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster",
	},
	Parameters: []engineurl.Parameter[target]{
		engineurl.Text("db", (*target).setDB).
			Only("redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel"),
		engineurl.Text("prefix", option(WithPrefix)),
		engineurl.Duration("max_ttl", option(WithMaxTTL)),
		engineurl.Switch("guard", "off", func(t *target) { t.option(WithoutFailoverGuard()) }),
		engineurl.NumberTo("replicas", 0, 100, func(t *target) *int { return &t.replicas }),
		engineurl.DurationTo("replicas_wait", func(t *target) *time.Duration { return &t.replicasWait }),
		engineurl.Duration("retention", option(WithTokenRetention)),
		engineurl.Switch("polling", "on", func(t *target) { t.option(WithPolling()) }),
		engineurl.DurationTo("dial_timeout", func(t *target) *time.Duration { return &t.dialTimeout }),
		engineurl.DurationTo("timeout", func(t *target) *time.Duration { return &t.timeout }),
		engineurl.NumberTo("pool", 1, 10_000, func(t *target) *int { return &t.pool }),
		engineurl.TextTo("sentinel_user", func(t *target) *string { return &t.sentinelUser }).
			Only("redis+sentinel", "rediss+sentinel"),
		engineurl.TextTo("sentinel_password", func(t *target) *string { return &t.sentinelPassword }).
			Only("redis+sentinel", "rediss+sentinel"),
	},
	TLS:        func(t *target) *engineurl.TLS { return &t.tls },
	TLSSchemes: []string{"rediss", "rediss+sentinel", "rediss+cluster"},
}

// option keeps an option for New. It returns what is valid if the option is not.
func (t *target) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func option[V any](with func(V) Option) func(*target, V) (allowed string) {
	return func(t *target, value V) string { return t.option(with(value)) }
}

func (t *target) setParameters(u *engineurl.URL) error {
	if err := urlSyntax.SetParameters(u, t); err != nil {
		return err
	}
	if t.replicas < 0 {
		if t.replicasWait != 0 {
			return u.BadParameter("replicas_wait", "left out, or next to replicas")
		}
		return nil
	}
	within := cmp.Or(t.replicasWait, defaultReplicasWait)
	if allowed := t.option(WithReplicas(t.replicas, within)); allowed != "" {
		return u.BadParameter("replicas_wait", allowed)
	}
	return nil
}
