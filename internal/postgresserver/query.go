package postgresserver

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Ask runs one query as the superuser, in a session of its own, and returns its rows as text, one on each line, with |
// between columns. It takes at most Patience.
func (s *Server) Ask(query string) (string, error) {
	psql, err := s.beside("psql")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, psql, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", s.DSN(), "-c", query)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("postgresserver: %q: %w: %s", query, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// TerminateBackends ends the sessions of clients that match a condition on pg_stat_activity, as in "application_name =
// 'a'", as an operator does. It returns how many there were. It is not an error if there were none.
func (s *Server) TerminateBackends(where string) (int, error) {
	text, err := s.Ask(
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' " +
			"AND pid <> pg_backend_pid() AND (" + where + ")",
	)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}
