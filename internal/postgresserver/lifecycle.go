package postgresserver

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// errNotRunning is the error of methods that need a running server.
var errNotRunning = errors.New("postgresserver: the server does not run: call Restart first")

// Stop asks the server to shut down, as an operator does: it ends all sessions, writes everything to its files and
// ends. It does nothing if the server is not running. A server that is still there after Patience is killed, which is
// an error.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.first.Run()
	if run == nil {
		return nil
	}
	resume(processTree(run.Pid)) // paused processes would ignore the signal
	_ = run.Signal(syscall.SIGINT)
	select {
	case <-run.Done():
		return nil
	case <-time.After(Patience):
		err := fmt.Errorf("postgresserver: the server was asked to end, and killed after %v: its log ends with:\n%s",
			Patience, s.Log())
		return errors.Join(err, s.killLocked())
	}
}

// Kill ends the server at once, as a crash does, even if it is paused, and returns when it has ended. The next start
// recovers from the write-ahead log. It does nothing if the server is not running.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killLocked()
}

// Restart starts a server that was stopped or killed, on the same data and the same port. It returns when the server
// answers.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launch()
}

// killLocked does not kill the first process itself, because it has to remove shared memory that the system would keep
// for ever: that process is told to quit at once. The other processes get no chance to finish their work.
func (s *Server) killLocked() error {
	run := s.first.Run()
	if run == nil {
		return nil
	}
	family := processTree(run.Pid)
	killAll(family[1:])
	if err := run.Signal(quit); err != nil && !run.Ended() {
		return err
	}
	resume(family[:1])
	select {
	case <-run.Done():
	case <-time.After(Patience):
		run.Kill() // its children notice
	}
	return nil
}

// Pause freezes the server with all of its processes: connections stay open, and nothing is answered. Resume ends that.
// It returns when all processes have stopped.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first.PID()
	if first == 0 {
		return errNotRunning
	}
	// Once stopped, the first process starts no more of them.
	if err := pause(first); err != nil {
		return err
	}
	for _, pid := range processTree(first)[1:] {
		if err := pause(pid); err != nil {
			return err
		}
	}
	return nil
}

// Resume ends a Pause.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first.PID()
	if first == 0 {
		return errNotRunning
	}
	resume(processTree(first))
	return nil
}

// PauseBackend freezes one session, given the number of its process that pg_backend_pid() returns. ResumeBackend ends
// that.
func (s *Server) PauseBackend(pid int) error { return s.backend(pid, pause) }

// ResumeBackend ends a PauseBackend.
func (s *Server) ResumeBackend(pid int) error {
	return s.backend(pid, func(pid int) error {
		resume([]int{pid})
		return nil
	})
}

// backend calls do for a process of this server, and refuses any other process.
func (s *Server) backend(pid int, do func(pid int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first.PID()
	if first == 0 {
		return errNotRunning
	}
	for _, mine := range processTree(first)[1:] {
		if mine == pid {
			return do(pid)
		}
	}
	return fmt.Errorf("postgresserver: %d is no process of the server: give what pg_backend_pid() says", pid)
}
