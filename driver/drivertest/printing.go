package drivertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

var printing = []check{
	{"AnEngineTellsNothingOfItsInside", anEngineTellsNothingOfItsInside},
}

// anEngineTellsNothingOfItsInside prints an engine in all the ways in which a program may do that
// by mistake: a verb that does not fit follows pointers, to owners and passwords.
func anEngineTellsNothingOfItsInside(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(a, e.lock("name"))
	type holder struct{ Engine any } // as a field of a program's own struct
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		for _, value := range []any{a, holder{a}, []any{a}} {
			text := fmt.Sprintf(verb, value)
			for _, secret := range []string{r.Owner, w.request.Owner, fmt.Sprintf("%x", r.Owner)} {
				if strings.Contains(text, secret) {
					e.Errorf("%s of %T shows an owner", verb, value)
				}
			}
			if len(text) > 200 || strings.ContainsFunc(text, unicode.IsControl) {
				e.Errorf("%s of %T is %d bytes: %.300q. "+
					"Give the engine a method Format, as fmt.Formatter, that writes a short text",
					verb, value, len(text), text)
			}
		}
	}
	if text, err := json.Marshal(a); err == nil && len(text) > 200 {
		e.Errorf("in JSON it is %.300q", text)
	}
	w.leave()
	e.release(a, r)
}
