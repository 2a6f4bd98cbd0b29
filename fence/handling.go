package fence

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// HandlerOption changes what [Required] and [Gate.Handler] want of requests.
type HandlerOption func(*handling)

// handling is what options change.
type handling struct{ always, overrides, fold, anyName bool }

// TokensAlways wants a token with safe methods, too: for handlers that change something on GET, or when one is not sure that none does.
func TokensAlways() HandlerOption { return func(o *handling) { o.always = true } }

// AllowOverrides lets requests pass that ask for another method than they have. It is safe with [TokensAlways], or if nothing behind the gate knows these headers.
func AllowOverrides() HandlerOption { return func(o *handling) { o.overrides = true } }

// FoldCase makes names lower case, where a resource is the same in upper and lower case: else each spelling has a mark of its own. The name in the context is lower case, too.
func FoldCase() HandlerOption { return func(o *handling) { o.fold = true } }

// AnyName takes names as they are: for those that are no path, and that nothing behind the gate cleans or decodes.
func AnyName() HandlerOption { return func(o *handling) { o.anyName = true } }

// overrideParameter does the same in forms, and in queries.
const overrideParameter = "_method"

// overriding are headers by which frameworks take a request for one with another method.
var overriding = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// check refuses what could pass beside the marks, and returns the name as it is to be used.
func (o *handling) check(r *http.Request, name string) (string, error) {
	if !o.overrides {
		for _, header := range overriding {
			if given := r.Header.Values(header); len(given) > 0 {
				return "", invalid(header, strings.Join(given, ", "), "left out: send the request with that method")
			}
		}
		if given, asks := r.URL.Query()[overrideParameter]; asks && isSafe(r.Method) {
			return "", invalid(overrideParameter, strings.Join(given, ", "), "left out: send the request with that method")
		}
	}
	if !o.anyName && ambiguous(name) {
		return "", invalid(fieldName, name, `without . and .. between separators, backslashes, percent-escapes and control characters: it may stand for the same as another one`)
	}
	if o.fold {
		name = strings.ToLower(name)
	}
	return name, nil
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// ambiguous reports whether another name may stand for the same thing, once somebody has cleaned or decoded it.
func ambiguous(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == ':' })
	return strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`) || strings.Contains(name, "//") || escape.MatchString(name) ||
		slices.Contains(parts, ".") || slices.Contains(parts, "..")
}
