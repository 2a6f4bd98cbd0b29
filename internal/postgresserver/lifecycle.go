package postgresserver

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// errNotRunning is the answer to those who need a server that runs.
var errNotRunning = errors.New("postgresserver: the server does not run: call Restart first")

// Stop asks the server to end, as an operator does: it breaks off all sessions, writes everything to its files and ends. It does nothing if the
// server does not run. A server that is still there after Patience is killed, which is an error.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.first.Run()
	if run == nil {
		return nil
	}
	resume(family(run.Pid)) // what is paused would not heed it
	_ = run.Signal(syscall.SIGINT)
	select {
	case <-run.Done():
		return nil
	case <-time.After(Patience):
		return errors.Join(fmt.Errorf("postgresserver: the server was asked to end, and killed after %v: its log ends with:\n%s", Patience, s.Log()), s.kill())
	}
}

// Kill ends the server at once, as a crash does, even if it is paused, and returns when it is gone. The next start recovers what was written to its
// log. It does nothing if the server does not run.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// Restart starts a server again that was stopped or killed, on the same data and the same port. It returns when the server answers.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launch()
}

// kill does not kill the first process itself, which cleans up memory that the system would keep for ever: that one is told to end at once. The
// others get no chance to finish what they are at.
func (s *Server) kill() error {
	run := s.first.Run()
	if run == nil {
		return nil
	}
	family := family(run.Pid)
	slay(family[1:])
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

// Pause freezes the server with all of its processes: connections stay open, and nothing is answered. Resume lets it go on. It returns when all have
// come to a halt.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first.PID()
	if first == 0 {
		return errNotRunning
	}
	// The first one makes no more of them, once it has stopped.
	if err := pause(first); err != nil {
		return err
	}
	for _, pid := range family(first)[1:] {
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
	resume(family(first))
	return nil
}

// PauseBackend freezes one session, by the number of its process as pg_backend_pid() tells it. ResumeBackend lets it go on.
func (s *Server) PauseBackend(pid int) error { return s.backend(pid, pause) }

// ResumeBackend ends a PauseBackend.
func (s *Server) ResumeBackend(pid int) error {
	return s.backend(pid, func(pid int) error {
		resume([]int{pid})
		return nil
	})
}

// backend does something to a process of this server, and to no other.
func (s *Server) backend(pid int, do func(pid int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first.PID()
	if first == 0 {
		return errNotRunning
	}
	for _, mine := range family(first)[1:] {
		if mine == pid {
			return do(pid)
		}
	}
	return fmt.Errorf("postgresserver: %d is no process of the server: give what pg_backend_pid() says", pid)
}
