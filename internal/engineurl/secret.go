package engineurl

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// longestSecret is how many bytes a file with a password may have.
const longestSecret = 64 << 10

// Secret returns the value of an environment variable, or else what is in the file that the variable of the same name with _FILE at its end names: one line. The
// error has the name of the variable and the path.
func Secret(getenv func(string) string, variable string) (string, error) {
	if value := getenv(variable); value != "" {
		return value, nil
	}
	variable += "_FILE"
	path := getenv(variable)
	if path == "" {
		return "", nil
	}
	secret, err := SecretFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return secret, nil
}

// SecretFile returns the one line that a file, or a pipe, has, without its end.
func SecretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestSecret+1))
	if err != nil {
		return "", err
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if len(text) > longestSecret || line == "" || strings.ContainsAny(line, "\n\r\x00") {
		return "", fmt.Errorf("%s must have one line, of at most 64 KiB", path)
	}
	return line, nil
}
