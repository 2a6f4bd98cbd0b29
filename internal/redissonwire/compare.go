package redissonwire

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tolerance is by how much times may differ, in milliseconds: a machine may be slow.
const tolerance = 2000

var times = regexp.MustCompile(`~[0-9]+|now([+-][0-9]+)?`)

// sameLine reports whether two lines are the same but for times that hardly differ.
func sameLine(a, b string) bool {
	if a == b {
		return true
	}
	wordsA, wordsB := strings.Fields(a), strings.Fields(b)
	if len(wordsA) != len(wordsB) {
		return false
	}
	for i := range wordsA {
		if !sameWord(wordsA[i], wordsB[i]) {
			return false
		}
	}
	return true
}

func sameWord(a, b string) bool {
	if a == b {
		return true
	}
	atA, atB := times.FindStringIndex(a), times.FindStringIndex(b)
	if atA == nil && atB == nil {
		return false
	}
	// A time that has not passed at all is a round number.
	round := regexp.MustCompile(`[0-9]+`)
	if atA == nil {
		atA = round.FindStringIndex(a)
	}
	if atB == nil {
		atB = round.FindStringIndex(b)
	}
	if atA == nil || atB == nil || a[:atA[0]] != b[:atB[0]] || a[atA[1]:] != b[atB[1]:] {
		return false
	}
	valueA, clockA := timeOf(a[atA[0]:atA[1]])
	valueB, clockB := timeOf(b[atB[0]:atB[1]])
	return clockA == clockB && max(valueA-valueB, valueB-valueA) <= tolerance
}

// timeOf returns a time in milliseconds, and whether it is one of the clock.
func timeOf(s string) (ms int64, clock bool) {
	s, clock = strings.CutPrefix(s, "now")
	ms, _ = strconv.ParseInt(strings.TrimPrefix(s, "~"), 10, 64) // nothing stands for 0
	return ms, clock
}

// difference says where recordings differ, or returns "" if they do not.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if !sameLine(g, w) {
			return fmt.Sprintf("line %d: got  %s\n        want %s\nall: got\n%s\nwant\n%s", i+1, g, w,
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	return ""
}
