package postgresserver_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

func TestStartAndClose(t *testing.T) {
	t.Parallel()
	s, err := postgresserver.Start()
	if errors.Is(err, postgresserver.ErrMissing) && !needed.Servers() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, _, _ := strings.Cut(strings.TrimPrefix(s.DSN(), "host="), " ")
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Errorf("the server does not listen: %v\n%s", err, s.Log())
	} else {
		c.Close()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing it again: %v", err)
	}
}
