package fence

import (
	"net/http"
	"strings"
	"unicode"
)

// HandlerOption changes what [Required] and [Gate.Handler] demand of requests.
type HandlerOption func(*handlerOptions)

// handlerOptions are the settings that options change.
type handlerOptions struct {
	always, overrides, fold, anyName bool
	normalize                        func(string) string // or nil
}

// TokensAlways demands a token with safe methods, too. Use it for handlers that change something on GET, or if you are
// not sure that none does.
func TokensAlways() HandlerOption { return func(o *handlerOptions) { o.always = true } }

// AllowOverrides accepts requests that ask for another method or another path than they have. It is safe if nothing
// behind the gate obeys them. [TokensAlways] makes another method safe, but not another path, because the token is for
// the name of the path that the gate sees.
func AllowOverrides() HandlerOption { return func(o *handlerOptions) { o.overrides = true } }

// FoldCase makes names lower case. Use it where upper and lower case mean the same resource; otherwise each spelling
// would have a mark of its own. The name in the context is lower case, too. Clients must take the lock under that name,
// because another spelling is another lock.
func FoldCase() HandlerOption { return func(o *handlerOptions) { o.fold = true } }

// Normalize accepts names with letters beyond ASCII. The same text can be written with different code points, so form
// must return one spelling for all names that the service behind the gate treats alike, for example norm.NFC.String of
// golang.org/x/text/unicode/norm. The name in the context is what form returns, and clients must take the lock under
// that name. Names that may still stand for another name are refused as before.
func Normalize(form func(string) string) HandlerOption {
	return func(o *handlerOptions) { o.normalize = form }
}

// AnyName accepts all names as they are. Use it for names that are not paths and that nothing behind the gate cleans or
// decodes.
func AnyName() HandlerOption { return func(o *handlerOptions) { o.anyName = true } }

// check refuses requests that could bypass the marks, and returns the canonical name.
func (o *handlerOptions) check(r *http.Request, name string) (string, error) {
	if !o.overrides {
		if err := refuseOverrides(r); err != nil {
			return "", err
		}
	}
	name = o.canonicalName(name)
	if o.anyName {
		return name, nil
	}
	if wanted := unambiguous(name, o.normalize != nil); wanted != "" {
		return "", invalid(fieldName, name, wanted+": it may stand for the same as another one")
	}
	return name, nil
}

// canonicalName returns the one spelling that the options give to a name.
func (o *handlerOptions) canonicalName(name string) string {
	if o.normalize != nil {
		name = o.normalize(name)
	}
	if o.fold {
		name = strings.ToLower(strings.Map(firstCase, name))
	}
	return name
}

// firstCase returns the first of all letters that differ only in case. There may be more than two, as for the long s
// and the final sigma.
func firstCase(r rune) rune {
	first := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		first = min(first, other)
	}
	return first
}
