//go:build unix

package cli

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
)

// What config files say of leasehold run. A flag that is given counts more than they.

// readConfig reads the config files, and checks all that they say of flags of run, also what does not count.
func (a *app) readConfig() (config.Files, error) {
	files, err := config.Read(os.LookupEnv)
	if err != nil {
		return files, configError(err)
	}
	f, flags := newRunFlags()
	return files, f.applyConfig(flags, files)
}

// newRunFlags returns flags of run that nobody has set.
func newRunFlags() (*runFlags, *pflag.FlagSet) {
	f, flags := defaultRunFlags(), pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.given = flags.Changed
	f.register(flags)
	return f, flags
}

// applyConfig sets flags that are not given to what the config files say.
func (f *runFlags) applyConfig(flags *pflag.FlagSet, files config.Files) error {
	f.configured = map[string]config.Source{}
	for _, key := range config.Keys {
		values := files.Values(key.Name)
		if key.Flag == "" || len(values) == 0 {
			continue
		}
		scratch, all := newRunFlags()
		for i := len(values) - 1; i >= 0; i-- { // the one that counts comes last
			if err := setFromFile(scratch, all, key, values[i]); err != nil {
				return err
			}
		}
		if flags.Changed(key.Flag) || f.isOverridden(key.Flag) {
			continue
		}
		_ = flags.Lookup(key.Flag).Value.Set(values[0].Text) // it was accepted above
		f.configured[key.Flag] = values[0].Source
	}
	if at, set := f.configured["kill-after"]; set && !f.given("ttl") && f.killAfter > f.ttl/3 {
		return wrongSetting(at, "kill_after %s is not allowed: it must be at most %s, a third of the ttl of %s",
			f.killAfter.String(), time.Duration(f.ttl/3).Truncate(time.Millisecond), time.Duration(f.ttl))
	}
	return nil
}

// isOverridden reports whether another flag that is set contradicts what a config file says of this one.
func (f *runFlags) isOverridden(flag string) bool {
	return flag == "quiet" && f.verbose || flag == "wait" && f.nonblock
}

// setFromFile sets a flag to the value that a file has, or says what is wrong with that. It does not quote the value,
// which may be a password in the wrong place.
func setFromFile(f *runFlags, flags *pflag.FlagSet, key config.Key, v config.Value) error {
	refuse := func(allowed string) error {
		return wrongSetting(v.Source, "this value of %s is not allowed: it must be %s", key.Name, allowed)
	}
	if err := flags.Lookup(key.Flag).Value.Set(v.Text); err != nil {
		return wrongSetting(v.Source, "this value of %s is not allowed: %w", key.Name, err)
	}
	switch key.Name {
	case "ttl":
		if ttl := time.Duration(f.ttl); ttl < leasehold.MinTTL || ttl > leasehold.MaxTTL {
			return refuse(fmt.Sprintf("%s to %s", leasehold.MinTTL, leasehold.MaxTTL))
		}
	case "max_waiters":
		if f.maxWaiters < 1 || f.maxWaiters > math.MaxInt32 {
			return refuse("1 to 2147483647")
		}
	case "label":
		if err := checkLabel(f.label); err != nil {
			return wrongSetting(v.Source, "%w", err)
		}
	}
	return nil
}
