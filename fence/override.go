package fence

import (
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"unicode"
)

// Headers that make frameworks treat a request as one with another method or another path.
var (
	methodHeaders = []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"}
	pathHeaders   = []string{"X-Original-URL", "X-Rewrite-URL"}
)

// methodParameters do the same as methodHeaders, in queries and forms. So do parameters with the names of those
// headers.
var methodParameters = []string{"_method", "_method_override"}

// headerContentType is the header that says whether the body is a form, and formTypes are its values if it is one.
const headerContentType = "Content-Type"

var formTypes = []string{"application/x-www-form-urlencoded", "multipart/form-data"}

// refuseOverrides refuses a request that asks for another method or another path than it has.
//
// Parameters and forms are checked for safe methods only: all other methods need a token, whatever they are turned
// into. Another path is checked for all methods, because the token is for the name that was derived from the path seen
// here. Bodies are not read, because a safe method needs no form.
func refuseOverrides(r *http.Request) error {
	for header, given := range r.Header {
		if match := matchHeader(header, methodHeaders, pathHeaders); match != "" {
			return invalid(match, strings.Join(given, ", "),
				"left out: send the request with that method, to that path")
		}
	}
	if !isSafe(r.Method) {
		return nil
	}
	for pair := range strings.FieldsFuncSeq(r.URL.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if match := matchHeader(parameter(name), methodParameters, methodHeaders); match != "" {
			return invalid(match, value, "left out: send the request with that method")
		}
	}
	// Servers differ in which of several types they take.
	if kind := strings.Join(r.Header.Values(headerContentType), ", "); r.ContentLength != 0 && isForm(kind) {
		return invalid(headerContentType, kind, "left out: a form may ask for another method, so send it with POST")
	}
	return nil
}

// matchHeader returns the word of the lists that a server may take the given word for, or "". Many servers ignore case,
// and CGI replaces all characters but letters and digits with underscores.
func matchHeader(word string, lists ...[]string) string {
	for _, list := range lists {
		for _, w := range list {
			if len(w) == len(word) && strings.EqualFold(underscored(w), underscored(word)) {
				return w
			}
		}
	}
	return ""
}

func underscored(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, word)
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// parameter returns the name that a server may read from the name of a parameter as it was sent. Some servers tolerate
// invalid escapes; PHP trims names, turns name[] into a list, and stops at a zero byte.
func parameter(sent string) string {
	name := escape.ReplaceAllStringFunc(strings.ReplaceAll(sent, "+", " "), func(e string) string {
		b, _ := hex.DecodeString(e[1:]) // the pattern matches hexadecimal digits only
		return string(b)
	})
	if end := strings.IndexAny(name, "[\x00"); end >= 0 {
		name = name[:end]
	}
	return strings.TrimSpace(name)
}

func isForm(contentType string) bool {
	for _, form := range formTypes {
		if strings.Contains(strings.ToLower(contentType), form) {
			return true
		}
	}
	return false
}
