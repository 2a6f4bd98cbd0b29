package engine

import (
	"regexp"
	"strings"
)

// Withheld replaces the URL of an engine that may itself be a password. It leads nowhere.
const Withheld = "withheld:"

var secretParameter = regexp.MustCompile(`(?i)pass|secret|token`)

// IsSecret reports whether a parameter of that name may be a password.
func IsSecret(parameter string) bool { return secretParameter.MatchString(parameter) }

// SecretPair matches the name and the equals sign before a password, as in "password=" or "?sentinel_password=".
var SecretPair = regexp.MustCompile(
	`(?i)(?:password|passwd|passphrase|pwd|secret|\bpass|[?&]\w*(?:pass|token)\w*)[\w.-]*\s*=\s*`)

var (
	// userInURL matches USER:PASSWORD@ after a scheme, or USER@ after the scheme of an engine, where the password may
	// contain slashes.
	userInURL = regexp.MustCompile(`(?is)://[^/@]*:[^/]*@|(?:redis|redlock|postgres|etcd|zookeeper)[a-z+]*://.*@`)
	// userAtAddress matches USER:PASSWORD@HOST:PORT. A text with an @ but without a port may be anything.
	userAtAddress = regexp.MustCompile(`(?s)^[^/]*:.*@([\w.-]+|\[[0-9a-fA-F:]+\]):\d{4,5}(/|$)`)
)

// HoldsPassword reports whether a text is clearly the address of an engine, or of another server, with a user or a
// password in it.
func HoldsPassword(text string) bool {
	for _, pair := range SecretPair.FindAllStringIndex(text, -1) {
		if rest := text[pair[1]:]; rest != "" && rest[0] != '&' {
			return true
		}
	}
	scheme, rest, found := strings.Cut(text, ":")
	before := rest[:max(strings.LastIndex(rest, "@"), 0)]
	switch scheme = strings.ToLower(scheme); {
	case !found || before == "":
		return false
	case scheme == "sqlite" && strings.Contains(before, ":"): // there are folders with an @
		return true
	case scheme != "sqlite" && IsScheme(scheme):
		return true
	}
	return userInURL.MatchString(text) || userAtAddress.MatchString(text)
}

// WithoutPassword returns a URL without its passwords, and whether it may have had any. The result leads to the same
// engine. If the URL is so broken that a password may be anywhere, only the scheme remains, or [Withheld] if it has
// none.
func WithoutPassword(raw string) (stripped string, had bool) {
	name, rest, _ := strings.Cut(raw, ":")
	name = strings.ToLower(name)
	path, isFile := strings.CutPrefix(raw, "@")
	switch {
	case raw == "", isFile && !HoldsPassword("sqlite:"+path),
		(name == "sqlite" || name == "memory") && !HoldsPassword(raw):
		return raw, false
	case name == "sqlite" || !IsScheme(name) || !strings.HasPrefix(rest, "//"):
		return Withheld, true
	}
	rest, query, asked := strings.Cut(rest[2:], "?")
	authority, path := rest, ""
	if i := strings.Index(rest, "/"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(path+query, "@") {
		return name + "://", true
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		had = password != ""
		if authority = authority[i+1:]; user != "" {
			authority = user + "@" + authority
		}
	}
	var others []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); IsSecret(name) && name != "passfile" {
			had = true
			continue
		}
		others = append(others, part)
	}
	if !had {
		return raw, false
	}
	if stripped = name + "://" + authority + path; asked && len(others) > 0 {
		stripped += "?" + strings.Join(others, "&")
	}
	return stripped, true
}
