package javaside

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The versions of Redisson that make redisson builds the program with.
const (
	Newest = "4.7.0"
	Oldest = "3.52.0"
)

// ErrMissing means that Java or the program is not there. The error says what to do.
var ErrMissing = errors.New("javaside: Java or the program that drives Redisson is missing: run \"make java\", which " +
	"installs a JDK and Maven and builds the program")

// folder is where scripts/build-redisson.sh puts the program, and sources what it is built from, from the top.
const (
	folder  = "bin/redisson"
	sources = "lab/redisson/java"
)

// program is what to run.
type program struct {
	java string
	jars string // a pattern for the class path of Java
}

// find looks for Java and for the program built with a version of Redisson.
func find(version string) (program, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return program{}, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	top, err := findTop()
	if err != nil {
		return program{}, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	in := filepath.Join(top, folder, version)
	built, err := os.ReadFile(filepath.Join(in, "sources"))
	if errors.Is(err, fs.ErrNotExist) {
		return program{}, fmt.Errorf("%w (not built yet)", ErrMissing)
	} else if err != nil {
		return program{}, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	sum, err := sumOfSources(filepath.Join(top, sources))
	if err != nil {
		return program{}, err
	}
	if strings.TrimSpace(string(built)) != sum {
		return program{}, fmt.Errorf("%w (%s was built from other sources)", ErrMissing, in)
	}
	return program{java, filepath.Join(in, "*")}, nil
}

// findTop returns the folder of go.work: the working folder of a test or one above it.
func findTop() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("javaside: no go.work above the working folder: run it in the repository")
		}
		dir = above
	}
}

// sumOfSources computes the sum that scripts/build-redisson.sh does.
func sumOfSources(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (d.Name() == "pom.xml" || strings.HasSuffix(path, ".java")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// quick are arguments of Java for a small heap and a quick start.
var quick = []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}

// arguments returns the arguments of Java.
func (p program) arguments(first []string) []string {
	return slices.Concat(first, []string{
		"-XX:-UsePerfData", "-Djava.awt.headless=true", "-Dio.netty.tryReflectionSetAccessible=false",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", p.jars, "redissonside.Main",
	})
}
