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

// The types of problems: where the errors are described.
const problems = "https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#"

// kinds are the errors that have a problem of their own, the first that fits counts.
var kinds = []struct {
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

// Refuse answers a request with a problem document (RFC 9457) that says what an error of this package means:
//
//   - [ErrStale]: 412, with the members name, have and want;
//   - [ErrNoToken]: 428;
//   - [ErrInvalid], if it is about the name, the token or a header of the request: 400;
//   - [ErrUnavailable]: 503, nothing has been done;
//   - [ErrUnknown]: 500, it may have been done.
//
// Any other error is a 500 that tells nothing of it, since the text may be for your eyes only. So is an [ErrInvalid] about something else, such as the name of a table: the client can do nothing about it.
func Refuse(w http.ResponseWriter, err error) {
	p := problem{Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError}
	value, _ := errors.AsType[*ValueError](err)
	for _, k := range kinds {
		if errors.Is(err, k.err) && (k.err != ErrInvalid || value.ofRequest()) {
			p = problem{Type: problems + k.name, Title: k.err.Error(), Status: k.status}
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

// ofRequest reports whether a value came from a request.
func (e *ValueError) ofRequest() bool {
	return e != nil && slices.Contains(append([]string{fieldName, fieldToken, HeaderToken, HeaderName, overrideParameter}, overriding...), e.Field)
}

// longest is the longest problem document that is read.
const longest = 64 << 10

// FromResponse returns what [Refuse] was given, as far as it was told: a [*StaleError], or another error of this package. It returns nil for all other responses, whatever their
// status. The body can still be read, and must still be closed.
func FromResponse(resp *http.Response) error {
	if resp == nil || resp.Body == nil {
		return nil
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != contentType {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), &rest{resp.Body, err}), resp.Body}
	var p problem
	if err != nil || json.Unmarshal(text, &p) != nil {
		return nil
	}
	for _, k := range kinds {
		switch {
		case p.Type != problems+k.name || resp.StatusCode != k.status:
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

// rest is what follows what has been read of a body.
type rest struct {
	io.Reader
	err error // with which the reading ended
}

func (r *rest) Read(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Reader.Read(b)
}
