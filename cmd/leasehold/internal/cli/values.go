//go:build unix

package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// period is a flag's value: a duration as in 1m30s, or a number of seconds as in flock(1).
type period time.Duration

func (p *period) Set(text string) error {
	d, err := time.ParseDuration(text)
	if seconds, e := strconv.ParseFloat(text, 64); e == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
		if seconds < 0 || seconds > (100*365*24*time.Hour).Seconds() || seconds != seconds {
			err = errors.New("out of range")
		}
	}
	if err != nil || d < 0 {
		return errors.New(mustBe + "a duration of 0 or more, such as 500ms, 30s or 2m (a bare number is seconds)")
	}
	*p = period(d)
	return nil
}

func (p *period) String() string {
	if *p == 0 {
		return ""
	}
	return time.Duration(*p).String()
}

func (p *period) Type() string { return "DUR" }

// choice is a flag's value: one of a few words.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return errors.New(mustBe + strings.Join(c.allowed, " or "))
	}
	c.value = text
	return nil
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }

// words returns what a shell offers as the flag's value.
func (c *choice) words() []string { return c.allowed }
