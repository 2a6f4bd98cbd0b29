package leasehold

import "fmt"

// Format implements [fmt.Formatter]: every verb, and package log/slog, print the name and the token, and nothing of the inside, where the owner is.
func (l *Lease) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "lease of %s %q with token %d", l.hold.lock.key.Kind, l.Name(), l.token)
}

// Format implements [fmt.Formatter]: every verb, and package log/slog, print the engine's name, and nothing of the inside, where owners are, and what changes meanwhile.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "client on %q", c.abilities.Name)
}
