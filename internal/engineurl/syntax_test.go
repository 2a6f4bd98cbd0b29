package engineurl_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// grammar is the syntax of the tests.
var grammar = engineurl.Syntax[settings]{
	Engine:  "test",
	Schemes: []string{"test", "tests", "test+more"},
	Parameters: []engineurl.Parameter[settings]{
		engineurl.Text("even", func(s *settings, text string) string {
			if len(text)%2 != 0 {
				return "of even length"
			}
			s.even = text
			return ""
		}),
		engineurl.TextTo("text", func(s *settings) *string { return &s.text }).Only("test+more"),
		engineurl.Duration("short", func(s *settings, d time.Duration) string {
			if d < 0 || d > time.Minute {
				return "up to 1m"
			}
			s.short = d
			return ""
		}),
		engineurl.DurationTo("wait", func(s *settings) *time.Duration { return &s.wait }),
		engineurl.NumberTo("n", -1, 5, func(s *settings) *int { return &s.n }),
		engineurl.Word("word", []string{"a", "b"}, func(s *settings, word string) { s.word = word }),
		engineurl.Switch("safe", "off", func(s *settings) { s.unsafe = true }),
	},
	TLS:        func(s *settings) *engineurl.TLS { return &s.tls },
	TLSSchemes: []string{"tests"},
}

type settings struct {
	even, text, word string
	short, wait      time.Duration
	n                int
	unsafe           bool
	tls              engineurl.TLS
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]settings{
		"test://h":                             {},
		"test://h?":                            {},
		"test://h?&even=a%20+c&n=5&":           {even: "a  c", n: 5},
		"test://h?n=-1&ev%65n=":                {n: -1},
		"test+more://h?text=%3F%26":            {text: "?&"},
		"test://h?short=0s&wait=1h30m":         {wait: 90 * time.Minute},
		"test://h?short=1m&word=b&safe=off":    {short: time.Minute, word: "b", unsafe: true},
		"tests://h":                            {tls: engineurl.TLS{On: true}},
		"tests://h?ca=a&server_name=h.x&n=2":   {n: 2, tls: engineurl.TLS{On: true, CA: "a", ServerName: "h.x"}},
		"tests://anna:geheim@h?cert=c&key=%6b": {tls: engineurl.TLS{On: true, Cert: "c", Key: "k"}},
	} {
		u, err := grammar.Split(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		var got settings
		if err := grammar.SetParameters(u, &got); err != nil || got != want {
			t.Errorf("%s sets %+v, %v", raw, got, err)
		}
	}
	const (
		names    = "one of even, short, wait, n, word, safe"
		unknown  = "a parameter that is not known"
		encoded  = "percent-encoded: a % in it is written as %25"
		duration = ", with its unit (ms, s, m or h)"
	)
	for raw, want := range map[string]engineurl.Error{
		"test://h?even=odd":       {Part: "parameter", Value: "even", Allowed: "of even length"},
		"test://h?n=1&n=1":        {Part: "parameter", Value: "n", Allowed: "given once"},
		"test://h?n=6":            {Part: "parameter", Value: "n", Allowed: "a number from -1 to 5"},
		"test://h?n=":             {Part: "parameter", Value: "n", Allowed: "a number from -1 to 5"},
		"test://h?short=2m":       {Part: "parameter", Value: "short", Allowed: "a duration up to 1m" + duration},
		"test://h?short=20":       {Part: "parameter", Value: "short", Allowed: "a duration up to 1m" + duration},
		"test://h?wait=0s":        {Part: "parameter", Value: "wait", Allowed: "a duration above zero" + duration},
		"test://h?wait=geheim":    {Part: "parameter", Value: "wait", Allowed: "a duration above zero" + duration},
		"test://h?word=geheim":    {Part: "parameter", Value: "word", Allowed: "a or b, or left out"},
		"test://h?safe=on":        {Part: "parameter", Value: "safe", Allowed: "off, or left out"},
		"test://h?even=%zzgeheim": {Part: "parameter", Value: "even", Allowed: encoded},
		"test://h?three=3":        {Part: "parameter", Value: "three", Allowed: names},
		"tests://h?three=3":       {Part: "parameter", Value: "three", Allowed: names + ", ca, cert, key, server_name"},
		"test://h?text=geheim":    {Part: "parameter", Value: "text", Allowed: "left out: it belongs to test+more://"},
		"test://h?ca=geheim":      {Part: "parameter", Value: "ca", Allowed: "left out: it belongs to tests://"},
		"tests://h?ca=":           {Part: "parameter", Value: "ca", Allowed: "the path of a PEM file"},
		"tests://h?server_name=-": {
			Part: "parameter", Value: "server_name", Allowed: "the name that stands in the server's certificate",
		},
		"tests://h?cert=geheim": {Part: "only one of the parameters cert and key", Allowed: "both, or none"},
		"test://h?a%zz": {
			Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded",
		},
		"test://h?n=1;even=": {
			Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded",
		},
		"test://h?geheim":     {Part: unknown, Allowed: names},
		"test://h?Ge-heim=1":  {Part: unknown, Allowed: names},
		"test://h?ge%68eim=1": {Part: unknown, Allowed: names},
		// A password with a question mark.
		"test://anna:ge?heim=1@h": {Part: unknown, Allowed: names},
		// A user with an @, and the same.
		"test://anna@b.de:1?geheim=1@h": {Part: unknown, Allowed: names},
		// This may be such a user.
		"test://anna:ok@h?three=3&mail=a@b.de": {Part: unknown, Allowed: names},
	} {
		u, err := grammar.Split(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		err = grammar.SetParameters(u, new(settings))
		want.Engine = "test"
		if got, is := errors.AsType[*engineurl.Error](err); !is || *got != want {
			t.Errorf("%s: %v, want %v", raw, err, &want)
		}
	}
}

// What an engine hands to another parser is left as it is, except its own parameters.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	var own time.Duration
	var others []string
	s := engineurl.Syntax[time.Duration]{
		Schemes: []string{"test"},
		Parameters: []engineurl.Parameter[time.Duration]{
			engineurl.DurationTo("wait", func(d *time.Duration) *time.Duration { return d }),
		},
		Unknown: func(_ *time.Duration, parameter string) { others = append(others, parameter) },
	}
	u, err := s.Split("test://h?b=%20&wait=2s&a&b=%zz;")
	if err == nil {
		err = s.SetParameters(u, &own)
	}
	if err != nil || own != 2*time.Second || !slices.Equal(others, []string{"b=%20", "a", "b=%zz;"}) {
		t.Errorf("%v, %s, %q", err, own, others)
	}
}

// The case of a scheme does not matter. A name in capitals that is no scheme may be a password, and is not shown.
func TestSchemesInCapitals(t *testing.T) {
	t.Parallel()
	u, err := grammar.Split("Test+MORE://Host")
	if err != nil || u.Scheme != "test+more" || u.Hosts != "Host" {
		t.Errorf("%+v, %v", u, err)
	}
	_, err = grammar.Split("GEHEIM://h")
	if wrong, is := errors.AsType[*engineurl.Error](err); !is || wrong.Part != "a value without a scheme" ||
		wrong.Value != "" {
		t.Errorf("%v", err)
	}
	// What is wrong with a parameter is said of its value, unless no value would be right.
	for raw, want := range map[string]string{
		"test://h?word=c":   `the value of parameter "word" is not allowed: it must be a or b`,
		"test://h?nosuch=c": `URL: parameter "nosuch" is not allowed: it must be one of`,
		"test://h?text=c":   `URL: parameter "text" is not allowed: it must be left out`,
	} {
		u, err := grammar.Split(raw)
		if err == nil {
			err = grammar.SetParameters(u, new(settings))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
