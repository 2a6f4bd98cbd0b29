package ports

import "strings"

// starts is how often Retry tries.
const starts = 5

// Retry calls a function that reserves ports and starts a server on them. It repeats the call, up
// to five times in all, as long as it fails because another program has taken a port in between.
// The error must say so in the words of the system, as the log of a server does.
func Retry(start func() error) (err error) {
	for range starts {
		if err = start(); err == nil || !strings.Contains(err.Error(), "ddress already in use") {
			break
		}
	}
	return err
}
