package postgresserver

import (
	"context"
	"fmt"
	"os/exec"
)

// Dump writes a dump of a database of the server to a file that pg_restore reads, with more options of pg_dump.
func (s *Server) Dump(database, file string, options ...string) error {
	return s.client("pg_dump", append([]string{"-Fc", "-f", file, "-d", s.DSN() + " dbname=" + database}, options...)...)
}

// Restore reads a dump into a database of the server, which is there already, with more options of pg_restore.
func (s *Server) Restore(database, file string, options ...string) error {
	return s.client("pg_restore", append(append([]string{"--exit-on-error", "-d", s.DSN() + " dbname=" + database}, options...), file)...)
}

// client runs a program of PostgreSQL as this process's user. It takes no longer than Patience.
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
