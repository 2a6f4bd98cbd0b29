package postgresserver

import (
	"context"
	"fmt"
	"os/exec"
)

// Dump writes a dump of a database of the server to a file that pg_restore can read. options are more options of
// pg_dump.
func (s *Server) Dump(database, file string, options ...string) error {
	args := []string{"-Fc", "-f", file, "-d", s.DSN() + " dbname=" + database}
	return s.client("pg_dump", append(args, options...)...)
}

// Restore restores a dump into an existing database of the server. options are more options of pg_restore.
func (s *Server) Restore(database, file string, options ...string) error {
	args := append([]string{"--exit-on-error", "-d", s.DSN() + " dbname=" + database}, options...)
	return s.client("pg_restore", append(args, file)...)
}

// client runs a program of PostgreSQL as this process's user. It takes at most Patience.
func (s *Server) client(name string, args ...string) error {
	program, err := s.beside(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("postgresserver: %s: %w\n%s", program, err, out)
	}
	return nil
}
