package etcdserver

import (
	"errors"
	"fmt"
	"os"
)

// PID returns the number of the process, and 0 if it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.run.Pid
}

// Kill ends the process at once, as a crash does, even if it is paused, and returns when it is gone. It does nothing if the server does not run.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	if s.running() {
		s.run.Kill()
	}
}

// Pause freezes the process: its connections stay open, and nothing is answered. Resume lets it go on. It returns when the process has come to a halt.
func (s *Server) Pause() error {
	return s.freeze("Pause", true, func() error { return s.run.Pause() })
}

// Resume ends a Pause.
func (s *Server) Resume() error {
	return s.freeze("Resume", false, func() error { return s.run.Resume() })
}

func (s *Server) freeze(what string, paused bool, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errNotRunning
	if s.running() {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("etcdserver: %s of the server at %s: %w", what, s.Addr(), err)
	}
	s.paused = paused
	return nil
}

var errNotRunning = errors.New("it does not run: call Restart first")

// Restart starts a server again that was killed: with the same ports, and what it has written down. It returns when the server knows a leader, so a
// majority of its cluster must run; [Cluster.Restart] starts several.
func (s *Server) Restart() error { return startTogether([]*Server{s}) }

// startTogether starts servers that do not run, and waits until each knows a leader, for which they may need one another.
func startTogether(all []*Server) error {
	for _, s := range all {
		if err := s.relaunch(); err != nil {
			return err
		}
	}
	for _, s := range all {
		if err := s.awaitAnswer(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) relaunch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return fmt.Errorf("etcdserver: the server at %s runs: call Kill before Restart", s.Addr())
	}
	return s.launch()
}

// Wipe removes all that a server has written down, which must not run. A server that is a cluster of its own starts with nothing then. A member of a
// larger one is not let in any more by the others, unless all of them are wiped.
func (s *Server) Wipe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return fmt.Errorf("etcdserver: the server at %s runs: call Kill before Wipe", s.Addr())
	}
	return os.RemoveAll(s.data())
}

func (s *Server) running() bool { return s.run != nil && !s.run.Ended() }

// Up reports whether the process runs and is not paused.
func (s *Server) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running() && !s.paused
}
