package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// call runs a program in a folder, with variables added to the environment. What it prints goes to standard error.
func call(dir string, env []string, name string, args ...string) error {
	c := command(dir, env, name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return named(c, c.Run())
}

// output runs a program and returns its standard output.
func output(dir string, env []string, name string, args ...string) (string, error) {
	c := command(dir, env, name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	return string(out), named(c, err)
}

func command(dir string, env []string, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	return c
}

func named(c *exec.Cmd, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	return nil
}
