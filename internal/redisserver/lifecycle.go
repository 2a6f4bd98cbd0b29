package redisserver

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/internal/process"
)

// StopLimit is how long Stop waits before it kills.
const StopLimit = 15 * time.Second

// PID returns the number of the process, and 0 if it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.run.Pid
}

// Kill ends the process at once, as a crash does, even if it is paused, and returns when it is gone. It does nothing
// if the server does not run.
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

// Stop asks the process to end, as an operator does, so that it saves what it is told to save. A process that is still there
// after StopLimit is killed, which is an error. It does nothing if the server does not run.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return nil
	}
	_ = s.run.Signal(syscall.SIGTERM) // if it cannot be sent, the limit tells
	_ = s.run.Resume()
	select {
	case <-s.run.Done():
		return nil
	case <-time.After(StopLimit):
		s.kill()
		return fmt.Errorf("redisserver: the server at %s was asked to end, and killed after %v: its log ends with:\n%s", s.Addr(), StopLimit, s.Log())
	}
}

// Pause freezes the process: its connections stay open, and nothing is answered. Resume lets it go on.
// It returns when the process has come to a halt.
func (s *Server) Pause() error { return s.freeze("Pause", true, (*process.Process).Pause) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.freeze("Resume", false, (*process.Process).Resume) }

// Restart starts a server again that was killed or stopped: with the same port, folder and redis.conf, the latter as
// the server itself may have rewritten it. It returns when the data is loaded.
func (s *Server) Restart() error { return s.restart(ready) }

// RestartLoading is Restart that returns as soon as the server answers, be it that
// it is loading its data. The setting key-load-delay makes loading take long.
func (s *Server) RestartLoading() error { return s.restart(answers) }

func (s *Server) restart(wanted func(error) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return fmt.Errorf("redisserver: the server at %s runs: call Kill or Stop before Restart", s.Addr())
	}
	return s.launch(wanted)
}

func (s *Server) freeze(what string, paused bool, send func(*process.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return fmt.Errorf("redisserver: %s of the server at %s: %w", what, s.Addr(), errNotRunning)
	}
	if err := send(s.run); err != nil {
		return fmt.Errorf("redisserver: %s of the server at %s: %w", what, s.Addr(), err)
	}
	s.paused = paused
	return nil
}

var errNotRunning = errors.New("it does not run: call Restart first")

func (s *Server) running() bool { return s.run != nil && !s.run.Ended() }

// Up reports whether the process runs and is not paused.
func (s *Server) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running() && !s.paused
}
