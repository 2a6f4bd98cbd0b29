package leasehold

import "fmt"

// Format implements [fmt.Formatter]. Every verb, and package log/slog, print the name and the token, and no internal
// state: that contains the owner.
func (l *Lease) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "lease of %s %q with token %d", l.hold.lock.key.Kind, l.Name(), l.token)
}

// Format implements [fmt.Formatter]. Every verb, and package log/slog, print the engine's name, and no internal state:
// that contains owners, and changes concurrently.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "client on %q", c.abilities.Name)
}
