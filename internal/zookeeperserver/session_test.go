package zookeeperserver

import (
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"time"
)

// connect begins a session that stays until the server ends it, and returns its id.
func connect(t *testing.T, s *Server, timeout time.Duration) int64 {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	noErr(t, err)
	t.Cleanup(func() { conn.Close() })
	noErr(t, conn.SetDeadline(time.Now().Add(Patience)))
	hello := make([]byte, 45)
	binary.BigEndian.PutUint32(hello[12:], uint32(timeout.Milliseconds()))
	binary.BigEndian.PutUint32(hello[24:], 16)
	noErr(t, send(conn, hello))
	welcome, err := receive(conn)
	noErr(t, err)
	id := int64(binary.BigEndian.Uint64(welcome[8:]))
	if given := time.Duration(binary.BigEndian.Uint32(welcome[4:])) * time.Millisecond; id == 0 || given != timeout {
		t.Fatalf("session %#x with a timeout of %v", id, given)
	}
	if password := welcome[20:36]; !slices.Equal(password, passwordOf(id)) {
		t.Fatalf("its password is %x, and not %x", password, passwordOf(id))
	}
	return id
}

func TestEndOfSession(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	stays, goes := connect(t, s, 20*time.Second), connect(t, s, 30*time.Second)
	has := func(id int64, timeout time.Duration) bool {
		t.Helper()
		all, err := s.Sessions()
		noErr(t, err)
		return slices.ContainsFunc(all, func(x Session) bool {
			return x.ID == id && x.Timeout == timeout && x.Client != ""
		})
	}
	if !has(stays, 20*time.Second) || !has(goes, 30*time.Second) {
		t.Error("sessions are not listed")
	}
	noErr(t, s.EndSession(goes))
	if !has(stays, 20*time.Second) {
		t.Error("another session is over")
	}
	if has(goes, 30*time.Second) {
		t.Error("the session goes on")
	}
	if err := s.EndSession(goes); err == nil {
		t.Error("it was ended twice")
	}
}
