package engine

import (
	"fmt"
	"strings"
)

// MissingError says that the command was built without an engine.
type MissingError struct {
	Engine string // its name
	Tag    string // the build tag that leaves it out alone
}

// Error implements error.
func (e *MissingError) Error() string {
	tags := "the tag " + e.Tag
	if e.Tag != "no_sqlite" {
		tags = "the tags " + e.Tag + " and no_servers"
	}
	return fmt.Sprintf("this build has no engine %s: use %s, or build the command without %s",
		e.Engine, strings.Join(Forms(), " or "), tags)
}
