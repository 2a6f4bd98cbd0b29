package redisson

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// A name of Redisson is the key of its object. The keys beside it have the name as their hash tag, so that a Cluster
// keeps them together.

// withPrefix returns the key or channel of an object that begins with a prefix.
func withPrefix(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// nameBehind returns the name of the object whose key withPrefix has made.
func nameBehind(prefix, key string) (name string, ok bool) {
	name, ok = strings.CutPrefix(key, prefix+":")
	if inner, begins := strings.CutPrefix(name, "{"); begins {
		if inner, ends := strings.CutSuffix(inner, "}"); ends && !strings.Contains(inner, "{") {
			name = inner
		}
	}
	return name, ok && withPrefix(prefix, name) == key
}

// withSuffix returns the key of an object that ends with a suffix.
func withSuffix(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// NameError says that a name cannot be used. It is a [driver.ErrInvalid], and calls of the library that fail with it
// also match leasehold.ErrInvalid. Nothing was sent.
type NameError struct {
	// Name is the name.
	Name string
	// Reason says why not, and what to do.
	Reason string
}

// Error implements error.
func (e *NameError) Error() string { return fmt.Sprintf("redisson: name %q: %s", e.Name, e.Reason) }

// Unwrap returns driver.ErrInvalid.
func (e *NameError) Unwrap() error { return driver.ErrInvalid }

// name returns the name under which Redisson knows a key.
func (c *config) name(k driver.Key) (string, error) {
	name := c.prefix + k.Name
	switch k.Kind {
	case driver.Semaphore:
		name = c.prefix + c.semaphorePrefix + k.Name
	case driver.Latch:
		name = c.prefix + c.latchPrefix + k.Name
	}
	return name, c.checkName(name)
}

// checkName refuses names whose keys are also those of another name, or are not kept together.
func (c *config) checkName(name string) error {
	inner, begins := strings.CutPrefix(name, "{")
	inner, ends := strings.CutSuffix(inner, "}")
	if begins && ends && !strings.ContainsAny(inner, "{}") {
		return &NameError{name, fmt.Sprintf(
			"Redisson keeps queue, tokens and messages of this name and of %q in the same keys: use only one of them, "+
				"the one without braces", inner)}
	}
	if c.isCluster && slotTag(withPrefix("p", name)) != slotTag(name) {
		return &NameError{name, "Redisson puts its keys into two slots of a Cluster: " +
			"use a name without braces, or with one pair of them around the part that names belong together by"}
	}
	return nil
}

// slotTag returns the part of a key that determines its slot in a Cluster.
func slotTag(key string) string {
	_, after, found := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	if !found || !closed || tag == "" {
		return key
	}
	return tag
}

// errOwner refuses an owner that is empty.
var errOwner = driver.Permanent(errors.New("redisson: the owner is empty: " +
	"give each attempt an owner as the contract of engines says"))
