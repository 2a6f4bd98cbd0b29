// Package keypattern makes patterns of keys for the command SCAN.
package keypattern

import "regexp"

var special = regexp.MustCompile(`[\\*?\[\]^-]`)

// Escape returns a pattern that matches a text literally.
func Escape(text string) string { return special.ReplaceAllString(text, `\$0`) }
