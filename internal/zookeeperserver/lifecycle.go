package zookeeperserver

import (
	"errors"
	"fmt"

	"github.com/leasehold-go/leasehold/internal/process"
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

// Restart starts a server again that was killed, with the same ports and data, and returns when it serves clients. In an ensemble that takes
// a majority: call Launch for all of them first if all were killed.
func (s *Server) Restart() error { return errors.Join(s.launch(), s.AwaitServing()) }

// Launch is Restart that does not wait.
func (s *Server) Launch() error { return s.launch() }

// Pause freezes the process: its connections stay open, and nothing is answered. Resume lets it go on. It returns when the process has come to a halt.
func (s *Server) Pause() error { return s.freeze("Pause", true, (*process.Process).Pause) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.freeze("Resume", false, (*process.Process).Resume) }

func (s *Server) freeze(what string, paused bool, send func(*process.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return fmt.Errorf("zookeeperserver: %s of the server at %s: it does not run: call Restart first", what, s.Addr())
	}
	if err := send(s.run); err != nil {
		return fmt.Errorf("zookeeperserver: %s of the server at %s: %w", what, s.Addr(), err)
	}
	s.paused = paused
	return nil
}

func (s *Server) running() bool { return s.run != nil && !s.run.Ended() }

// Up reports whether the process runs and is not paused.
func (s *Server) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running() && !s.paused
}
