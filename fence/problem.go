package fence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
)

// problem is a problem document, see https://www.rfc-editor.org/rfc/rfc9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Name   string `json:"name,omitempty"` // of the mark
	Have   uint64 `json:"have,omitempty"` // the mark
	Want   uint64 `json:"want,omitempty"` // the token of the request
}

const contentType = "application/problem+json"

// problemBase is the beginning of the types of problems. They are URLs of the documentation of the errors.
const problemBase = "https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#"

// problemKinds are the errors that have a problem type of their own. The first match counts.
var problemKinds = []struct {
	err    error
	name   string
	status int
}{
	{ErrStale, "ErrStale", http.StatusPreconditionFailed},
	{ErrNoToken, "ErrNoToken", http.StatusPreconditionRequired},
	{ErrInvalid, "ErrInvalid", http.StatusBadRequest},
	{ErrUnavailable, "ErrUnavailable", http.StatusServiceUnavailable},
	{ErrUnknown, "ErrUnknown", http.StatusInternalServerError},
}

// Refuse answers a request with a problem document (RFC 9457) for an error of this package:
//
//   - [ErrStale]: 412, with the members name, have and want;
//   - [ErrNoToken]: 428;
//   - [ErrInvalid], if it is about the name, the token or a header of the request: 400;
//   - [ErrUnavailable]: 503, nothing has been done;
//   - [ErrUnknown]: 500, it may have been done.
//
// Any other error is a 500 without details, since its text may not be meant for clients. So is an [ErrInvalid] about
// anything else, such as the name of a table, because the client can do nothing about it.
func Refuse(w http.ResponseWriter, err error) {
	p := problem{
		Type:   "about:blank",
		Title:  http.StatusText(http.StatusInternalServerError),
		Status: http.StatusInternalServerError,
	}
	value, _ := errors.AsType[*ValueError](err)
	for _, k := range problemKinds {
		if errors.Is(err, k.err) && (k.err != ErrInvalid || value.ofRequest()) {
			p = problem{Type: problemBase + k.name, Title: k.err.Error(), Status: k.status}
			break
		}
	}
	if stale, ok := errors.AsType[*StaleError](err); ok {
		p.Name, p.Have, p.Want, p.Detail = stale.Name, stale.Have, stale.Want, stale.Error()
	} else if value.ofRequest() {
		p.Detail = value.Error()
	}
	text, _ := json.Marshal(p) // strings and numbers always can be
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // the client may be gone
}

var fieldsOfRequests = slices.Concat(
	[]string{fieldName, fieldToken, HeaderToken, HeaderName, headerContentType}, methodHeaders, pathHeaders,
	methodParameters,
)

// ofRequest reports whether a value came from a request.
func (e *ValueError) ofRequest() bool {
	return e != nil && slices.Contains(fieldsOfRequests, e.Field)
}

// maxProblemSize is the size of the longest problem document that is read, in bytes.
const maxProblemSize = 64 << 10

// FromResponse returns the error that the server gave to [Refuse], as far as the response tells: a [*StaleError], or
// another error of this package. It returns nil for all other responses, whatever their status. The body can still be
// read afterwards, and must still be closed.
func FromResponse(resp *http.Response) error {
	if resp == nil || resp.Body == nil {
		return nil
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != contentType {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblemSize))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), &remainingBody{resp.Body, err}), resp.Body}
	var p problem
	if err != nil || json.Unmarshal(text, &p) != nil {
		return nil
	}
	for _, k := range problemKinds {
		switch {
		case p.Type != problemBase+k.name || resp.StatusCode != k.status:
		case k.err == ErrStale:
			return &StaleError{Name: p.Name, Have: p.Have, Want: p.Want}
		case p.Detail != "":
			return fmt.Errorf("%w, says the server: %s", k.err, p.Detail)
		default:
			return k.err
		}
	}
	return nil
}

// remainingBody is the part of a body that FromResponse has not read.
type remainingBody struct {
	io.Reader
	err error // why the reading ended
}

func (r *remainingBody) Read(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Reader.Read(b)
}
