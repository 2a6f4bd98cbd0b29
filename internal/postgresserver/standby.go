package postgresserver

import (
	"errors"
	"fmt"
)

// StartStandby starts a server that follows another one by streaming replication, and waits until it has everything
// that the other one has now. Replication is asynchronous. The standby can run queries that only read.
func StartStandby(of *Server, c Config) (*Server, error) {
	s, err := start(c, func(s *Server) error {
		return s.tool(
			"pg_basebackup", "--pgdata", s.data(), "--write-recovery-conf", "--wal-method", "stream", "--checkpoint",
			"fast", "--no-sync", "--dbname", of.DSN(),
		)
	})
	if err != nil {
		return nil, err
	}
	if err := s.AwaitFollows(of); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// AwaitFollows waits until a standby has everything that another server has written by now, for at most Patience.
func (s *Server) AwaitFollows(of *Server) error {
	// What is committed need not be flushed yet: test servers do not wait for it.
	end, err := of.Ask("SELECT pg_current_wal_insert_lsn()")
	if err != nil {
		return err
	}
	return s.first.Await(s.first.Run(), Patience, "it has reached "+end+" of its primary", func() error {
		behind, err := s.Ask("SELECT pg_wal_lsn_diff('" + end + "', pg_last_wal_replay_lsn()) > 0")
		if err == nil && behind != "f" {
			err = errors.New("it is behind")
		}
		return err
	})
}

// Promote turns a standby into a primary, and returns when it accepts writes.
func (s *Server) Promote() error {
	done, err := s.Ask(fmt.Sprintf("SELECT pg_promote(true, %d)", int(Patience.Seconds())))
	if err == nil && done != "t" {
		err = fmt.Errorf(
			"postgresserver: the standby is not promoted after %v; its log ends with:\n%s", Patience, s.Log(),
		)
	}
	return err
}
