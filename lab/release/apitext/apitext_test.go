package apitext

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const shop = `// Package shop is for tests.
package shop

import "context"

const Limit = 3

type Size int

type Cart struct {
	Name string
	items []string
}

type Store interface {
	Put(ctx context.Context, c Cart) error
}

type sealed struct{}

func (sealed) Seal() {}

type Box[T any] struct{ sealed }

func (b *Box[T]) Open(key string) (T, error) { panic("not called") }

func New(name string, sizes ...Size) *Cart { return nil }

func hidden() {}
`

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	files["go.mod"] = "module example.com/shop\n\ngo 1.26\n"
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLinesSayWhatUsersSee(t *testing.T) {
	got, err := Lines(module(t, map[string]string{
		"shop.go":           shop,
		"internal/x/x.go":   "package x\n\nfunc Exported() {}\n",
		"cmd/shop/main.go":  "package main\n\nfunc Exported() {}\n\nfunc main() {}\n",
		"lab/tools/tool.go": "package tools\n\nfunc Exported() {}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	const p = "pkg example.com/shop, "
	want := []string{
		p + "const Limit untyped int = 3",
		p + "func New(string, ...Size) *Cart",
		p + "method (*Box) Open(string) (T, error)",
		p + "method (Box) Seal()",
		p + "type Box[T any] struct",
		p + "type Cart struct",
		p + "type Cart struct, Name string",
		p + "type Size int",
		p + "type Store interface { Put }",
		p + "type Store interface, Put(context.Context, Cart) error",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestCompareFindsWhatWasRemoved(t *testing.T) {
	t.Parallel()
	removed, added := Compare([]string{"a", "b", "c"}, []string{"a", "c", "d"})
	if !reflect.DeepEqual(removed, []string{"b"}) || !reflect.DeepEqual(added, []string{"d"}) {
		t.Errorf("removed %q, added %q", removed, added)
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	if lines, err := Lines(module(t, map[string]string{"shop.go": "package shop\n\nvar X undefined\n"})); err == nil {
		t.Errorf("got %q", lines)
	}
}
