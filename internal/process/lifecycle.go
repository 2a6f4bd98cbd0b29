package process

import (
	"fmt"
	"syscall"
	"time"
)

// Run returns the running process of the server, or nil if none runs.
func (s *Server) Run() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return nil
	}
	return s.run
}

// PID returns the process id, or 0 if no process runs.
func (s *Server) PID() int {
	if run := s.Run(); run != nil {
		return run.Pid
	}
	return 0
}

// Up reports whether the process runs and is not paused.
func (s *Server) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running() && !s.paused
}

func (s *Server) running() bool { return s.run != nil && !s.run.Ended() }

// Kill ends the process at once, as a crash does, even if it is paused, and returns when it has
// ended. It does nothing if the server does not run.
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

// stopLimit is how long Stop waits before it kills.
const stopLimit = 15 * time.Second

// Stop asks the process to end, as an operator does, so that it can save its data. A process that
// has not ended after 15 seconds is killed, which is an error. Stop does nothing if the server does
// not run.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return nil
	}
	_ = s.run.Signal(syscall.SIGTERM) // if it cannot be sent, the limit shows it
	_ = s.run.Resume()
	select {
	case <-s.run.Done():
		return nil
	case <-time.After(stopLimit):
		s.kill()
		return fmt.Errorf("%s was asked to end, and killed after %v: its log ends with:\n%s", s.name, stopLimit,
			s.Log())
	}
}

// Pause freezes the process: its connections stay open, and nothing is answered. It returns when
// the process has stopped. Resume lets it continue.
func (s *Server) Pause() error { return s.freeze("Pause", true, (*Process).Pause) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.freeze("Resume", false, (*Process).Resume) }

func (s *Server) freeze(what string, paused bool, send func(*Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return fmt.Errorf("%s does not run: call Restart before %s", s.name, what)
	}
	if err := send(s.run); err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, what, err)
	}
	s.paused = paused
	return nil
}
