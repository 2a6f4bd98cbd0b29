package fence

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Headers of a request. The token is a plain decimal number, which any client can write. It is not an Integer of RFC
// 9651, because it may have 16 digits and an Integer at most 15.
const (
	// HeaderToken has the token, from 1 to 9007199254740991, without sign and leading zeros.
	HeaderToken = "Fencing-Token"
	// HeaderName has the name of the lock, percent-encoded as in a path. It may be missing. If it is there, it must be
	// the name that the server expects: a token of another lock means nothing here, and one that is too large would
	// shut out all holders of the right lock.
	HeaderName = "Fencing-Name"
)

// setHeaders puts a name and a token into the headers of a request.
func setHeaders(h http.Header, name string, token uint64) {
	h.Set(HeaderToken, strconv.FormatUint(token, 10))
	h.Set(HeaderName, url.PathEscape(name))
}

// tokenOf reads the token of a request about a name. name is canonical already; form makes the name in the header
// canonical. It returns ErrNoToken if there is no token.
func tokenOf(h http.Header, name string, form func(string) string) (uint64, error) {
	if err := Valid(name, 1); err != nil { // the server derives the name from the request, for example from its path
		return 0, err
	}
	tokens, names := h.Values(HeaderToken), h.Values(HeaderName)
	switch {
	case len(tokens) == 0:
		return 0, ErrNoToken
	case len(tokens) > 1:
		return 0, invalid(HeaderToken, fmt.Sprint(tokens), "given once")
	case len(names) > 1:
		return 0, invalid(HeaderName, fmt.Sprint(names), "given once")
	}
	if len(names) == 1 {
		given, err := url.PathUnescape(names[0])
		if err != nil || form(given) != name {
			return 0, invalid(HeaderName, names[0],
				"the lock of this resource, "+strconv.Quote(shortened(name))+", percent-encoded as in a path")
		}
	}
	token, err := strconv.ParseUint(tokens[0], 10, 64)
	if err != nil || token < 1 || token > MaxToken || strconv.FormatUint(token, 10) != tokens[0] {
		return 0, invalid(HeaderToken, tokens[0],
			"a decimal number from 1 to "+strconv.FormatUint(MaxToken, 10)+" without sign and leading zeros")
	}
	return token, nil
}

// isSafe reports whether a method is meant to change nothing (RFC 9110, section 9.2.1).
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
