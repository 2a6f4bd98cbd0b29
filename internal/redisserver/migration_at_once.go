package redisserver

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// MovesAtOnce reports whether the servers can move a slot as a whole (CLUSTER MIGRATESLOTS), as
// Valkey does from version 9 on. If there is no server, the error is ErrMissing.
func MovesAtOnce() (bool, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return false, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	version, err := exec.Command(program, "--version").Output() // such as "Valkey server v=9.1.2 sha=…"
	if err != nil {
		return false, fmt.Errorf("redisserver: %s --version: %w", program, err)
	}
	return movesAtOnce(string(version)), nil
}

func movesAtOnce(version string) bool {
	_, rest, valkey := strings.Cut(version, "Valkey server v=")
	number, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(number)
	return valkey && err == nil && major >= 9
}

// MoveAtOnce moves a slot with all its keys to another master, in one step for its clients, and
// waits until all nodes know the new owner.
func (c *Cluster) MoveAtOnce(slot int, to *Server) error {
	from, err := c.Owner(slot)
	if err != nil {
		return err
	}
	n := strconv.Itoa(slot)
	if _, err := from.Command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", n, n, "NODE", c.id(to)); err != nil {
		return err
	}
	if _, err = c.AwaitOwner(slot, from); err != nil {
		jobs, why := from.Command("CLUSTER", "GETSLOTMIGRATIONS")
		err = fmt.Errorf("%w; its migrations: %v, %v", err, jobs, why)
	}
	return err
}
