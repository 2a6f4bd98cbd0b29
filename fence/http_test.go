package fence_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/leasehold-go/leasehold/fence"
)

// nameOf is the name of the lock for a request.
func nameOf(r *http.Request) string { return "order:" + r.URL.Query().Get("id") }

// echo is a handler that answers with the token it got.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	name, token, ok := fence.FromContext(r.Context())
	_ = json.NewEncoder(w).Encode([]any{name, token, ok})
})

func request(method string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "/?id=7", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func answer(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// What the headers of a request may contain, and the answers.
func TestTokensOfRequests(t *testing.T) {
	t.Parallel()
	const given, none = `["order:7",42,true]` + "\n", `["",0,false]` + "\n"
	token, name := fence.HeaderToken, fence.HeaderName
	gate := fence.NewGate(new(fence.Memory))
	for _, c := range []struct {
		what    string
		request *http.Request
		status  int
		body    string
	}{
		{"token", request("PUT", token, "42"), 200, given},
		{"token and name", request("PUT", token, "42", name, "order:7"), 200, given},
		{"name with other escapes", request("PUT", token, "42", name, "%6frder%3a7"), 200, given},
		{"reading with a token", request("GET", token, "42"), 200, given},
		{"reading without a token", request("GET"), 200, none},
		{"HEAD without a token", request("HEAD"), 200, none},
		{"OPTIONS without a token", request("OPTIONS"), 200, none},
		{"writing without a token", request("PUT"), 428, ""},
		{"POST without a token", request("POST"), 428, ""},
		{"DELETE without a token", request("DELETE"), 428, ""},
		{"a method of one's own without a token", request("get"), 428, ""},
		{"name without a token", request("PUT", name, "order:7"), 428, ""},
		{"another name", request("PUT", token, "42", name, "order:8"), 400, ""},
		{"name that is no escape", request("PUT", token, "42", name, "order:7%"), 400, ""},
		{"reading with another name", request("GET", token, "42", name, "order:8"), 400, ""},
		{"two tokens", request("PUT", token, "42", token, "42"), 400, ""},
		{"two names", request("PUT", token, "42", name, "order:7", name, "order:7"), 400, ""},
		{"empty token", request("PUT", token, ""), 400, ""},
		{"token 0", request("PUT", token, "0"), 400, ""},
		{"negative token", request("PUT", token, "-1"), 400, ""},
		{"token with a sign", request("PUT", token, "+42"), 400, ""},
		{"token with a zero in front", request("PUT", token, "042"), 400, ""},
		{"token with a space", request("PUT", token, "4 2"), 400, ""},
		{"token with a unit", request("PUT", token, "42ms"), 400, ""},
		{"token in hex", request("PUT", token, "0x2a"), 400, ""},
		{"token with an exponent", request("PUT", token, "4e1"), 400, ""},
		{"token of 2^53", request("PUT", token, "9007199254740992"), 400, ""},
		{"token beyond all", request("PUT", token, strings.Repeat("9", 1000)), 400, ""},
		{"reading with a bad token", request("GET", token, "x"), 400, ""},
	} {
		for handler, h := range map[string]http.Handler{"Required": fence.Required(nameOf, echo),
			"Gate": gate.Handler(nameOf, echo)} {
			resp := answer(h, c.request)
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status || c.body != "" && string(body) != c.body {
				t.Errorf("%s, %s: %d %s, want %d %s", handler, c.what, resp.StatusCode, body, c.status, c.body)
			}
			if resp.Header.Get("Vary") != fence.HeaderToken {
				t.Errorf("%s, %s: a cache may give the answer to one with another token", handler, c.what)
			}
			if c.status != 200 && resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s, %s: the problem is %q of type %q", handler, c.what, body, resp.Header.Get("Content-Type"))
			}
		}
	}
}

// A request from which the server can derive no name is refused.
func TestRequestWithoutAName(t *testing.T) {
	t.Parallel()
	h := fence.Required(func(*http.Request) string { return "" }, echo)
	if resp := answer(h, request("PUT", fence.HeaderToken, "1")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", resp.StatusCode)
	}
}

// An old token is answered with 412 and a document with all details, for people and programs.
func TestProblemOfAStaleToken(t *testing.T) {
	t.Parallel()
	h := fence.NewGate(new(fence.Memory)).Handler(nameOf, echo)
	answer(h, request("PUT", fence.HeaderToken, "43"))
	resp := answer(h, request("PUT", fence.HeaderToken, "42"))
	var p map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 412 || p["status"] != 412.0 || p["have"] != 43.0 || p["want"] != 42.0 ||
		p["name"] != "order:7" ||
		p["title"] != fence.ErrStale.Error() ||
		p["type"] != "https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#ErrStale" || p["detail"] == nil {
		t.Errorf("%d %v", resp.StatusCode, p)
	}
	if resp.Header.Get("Cache-Control") != "no-store" {
		t.Error("the answer may be kept by a cache")
	}
	// Reading with a token raises the mark as well.
	if resp := answer(h, request("GET", fence.HeaderToken, "44")); resp.StatusCode != 200 {
		t.Errorf("reading: %d", resp.StatusCode)
	}
	if resp := answer(h, request("PUT", fence.HeaderToken, "43")); resp.StatusCode != 412 {
		t.Errorf("writing with the token of before: %d", resp.StatusCode)
	}
}

// FromResponse returns the error that Refuse was given, except errors that are not meant for clients.
func TestProblemsRoundTrip(t *testing.T) {
	t.Parallel()
	secret := errors.New("password=hunter2")
	for _, c := range []struct {
		err    error
		status int
		want   error // nil: the client gets no details
	}{
		{&fence.StaleError{Name: "a", Have: fence.MaxToken, Want: fence.MaxToken - 1}, 412, fence.ErrStale},
		{fence.ErrStale, 412, fence.ErrStale},
		{fence.ErrNoToken, 428, fence.ErrNoToken},
		{fence.Valid("", 1), 400, fence.ErrInvalid},
		{fmt.Errorf("raising: %w", fence.Valid("a", 0)), 400, fence.ErrInvalid},
		// nothing that the client can fix
		{fence.DBMarks{DB: new(sql.DB), Table: fence.Table{Name: "hunter2 marks"}}.Raise(t.Context(), "a", 1), 500,
			nil},
		{fence.NewGate(nil).Do(t.Context(), "a", 1, func(context.Context) error { return nil }), 500, nil},
		{fmt.Errorf("slot of hunter2: %w", fence.ErrInvalid), 500, nil},
		{errors.Join(fence.ErrUnavailable, secret), 503, fence.ErrUnavailable},
		{errors.Join(fence.ErrUnknown, secret), 500, fence.ErrUnknown},
		{secret, 500, nil},
		{nil, 500, nil},
	} {
		w := httptest.NewRecorder()
		fence.Refuse(w, c.err)
		resp := w.Result()
		err := fence.FromResponse(resp)
		body, readErr := io.ReadAll(resp.Body)
		if readErr != nil || !json.Valid(body) || strings.Contains(string(body), "hunter2") {
			t.Errorf("%v: the body is %s, %v", c.err, body, readErr)
		}
		if resp.StatusCode != c.status || !errors.Is(err, c.want) {
			t.Errorf("%v: %d, %v, want %d, %v", c.err, resp.StatusCode, err, c.status, c.want)
		}
		if stale, ok := errors.AsType[*fence.StaleError](c.err); ok {
			if got, ok := errors.AsType[*fence.StaleError](err); !ok || *got != *stale {
				t.Errorf("%v came back as %v", stale, err)
			}
		}
	}
}

// broken is a body that ends with an error.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (broken) Close() error { return nil }

// Other responses are ignored, and their bodies are left as they are.
func TestOtherResponses(t *testing.T) {
	t.Parallel()
	const ours = `{"type":"https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#ErrStale",` +
		`"status":412,"have":2,"want":1}`
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct {
		kind, body string
		status     int
	}{
		{"application/json", ours, 412},
		{"", ours, 412},
		{"text/html", "<p>", 412},
		{"application/problem+json", ours, 200},
		{"application/problem+json", `{"type":"about:blank","status":412}`, 412},
		{"application/problem+json", `{`, 412},
		{"application/problem+json", `{"type":"` + long + `"}`, 412},
	} {
		resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}},
			Body: io.NopCloser(strings.NewReader(c.body))}
		err := fence.FromResponse(resp)
		body, readErr := io.ReadAll(resp.Body)
		if err != nil || readErr != nil || string(body) != c.body {
			t.Errorf("%s %.20s: %v; the body is %.20s, %v", c.kind, c.body, err, body, readErr)
		}
	}
	resp := &http.Response{StatusCode: 412,
		Header: http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}},
		Body:   broken{strings.NewReader("{")}}
	if err := fence.FromResponse(resp); err != nil {
		t.Errorf("a body that breaks off: %v", err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "{" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body is %q, %v", body, err)
	}
	if err := fence.FromResponse(nil); err != nil {
		t.Errorf("no response: %v", err)
	}
}

// A request that has no header yet is sent, too.
func TestTransportWithoutAHeader(t *testing.T) {
	t.Parallel()
	r := &http.Request{Method: "PUT", URL: &url.URL{Scheme: "http", Host: "a"}}
	r = r.WithContext(fence.WithToken(t.Context(), "a", 1))
	transport := &fence.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		if got := r.Header.Get(fence.HeaderToken); got != "1" {
			t.Errorf("sent %q", got)
		}
		return &http.Response{}, nil
	})}
	if _, err := transport.RoundTrip(r); err != nil {
		t.Error(err)
	}
}

// A redirect takes the token along, even to another host, as documented.
func TestTokenOfARedirect(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(fence.Required(nameOf, echo))
	defer target.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/?id=7", http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	client := &http.Client{Transport: &fence.Transport{Base: first.Client().Transport}}
	r, err := http.NewRequestWithContext(fence.WithToken(t.Context(), "order:7", 42), "PUT", first.URL,
		strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != `["order:7",42,true]`+"\n" || err != nil {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
}

// roundTrip is a RoundTripper with a function of the test.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closing is a body that knows whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// The transport sends what the context carries, does not change the request it was given, and does not send a request
// without a token.
func TestTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what        string
		ctx         context.Context
		method      string
		header      string // set by the caller
		want        error
		token, name string // as sent
	}{
		{"token", fence.WithToken(t.Context(), "order:7", 42), "PUT", "", nil, "42", "order:7"},
		{"name that must be escaped", fence.WithToken(t.Context(), "a b/ä\n%", 1), "PUT", "", nil, "1",
			url.PathEscape("a b/ä\n%")},
		{"the innermost one", fence.WithToken(fence.WithToken(t.Context(), "a", 1), "b", 2), "PUT", "", nil, "2", "b"},
		{"instead of the caller's header", fence.WithToken(t.Context(), "a", 2), "PUT", "1", nil, "2", "a"},
		{"only the caller's header", t.Context(), "PUT", "1", nil, "1", ""},
		{"reading without a token", t.Context(), "GET", "", nil, "", ""},
		{"reading by the default method", t.Context(), "", "", nil, "", ""},
		{"reading with a token", fence.WithToken(t.Context(), "a", 1), "GET", "", nil, "1", "a"},
		{"writing without a token", t.Context(), "POST", "", fence.ErrNoToken, "", ""},
		{"token 0", fence.WithToken(t.Context(), "a", 0), "PUT", "", fence.ErrInvalid, "", ""},
		{"token 2^53", fence.WithToken(t.Context(), "a", fence.MaxToken+1), "PUT", "", fence.ErrInvalid, "", ""},
		{"bad name", fence.WithToken(t.Context(), "", 1), "GET", "", fence.ErrInvalid, "", ""},
	} {
		body := &closing{Reader: strings.NewReader("body")}
		r := httptest.NewRequest("PUT", "/", nil).WithContext(c.ctx)
		r.Method, r.Body = c.method, body
		if c.header != "" {
			r.Header.Set(fence.HeaderToken, c.header)
		}
		sent := false
		transport := &fence.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = true
			if token, name := r.Header.Get(fence.HeaderToken), r.Header.Get(fence.HeaderName); token != c.token ||
				name != c.name {
				t.Errorf("%s: sent %q, %q, want %q, %q", c.what, token, name, c.token, c.name)
			}
			return &http.Response{}, nil
		})}
		_, err := transport.RoundTrip(r)
		if !errors.Is(err, c.want) || sent != (c.want == nil) || body.closed != (c.want != nil) {
			t.Errorf("%s: %v, sent %v, body closed %v", c.what, err, sent, body.closed)
		}
		if r.Header.Get(fence.HeaderToken) != c.header || r.Header.Get(fence.HeaderName) != "" {
			t.Errorf("%s: the request has changed: %v", c.what, r.Header)
		}
	}
}

// From a client to a server and back, over a real connection, with every kind of name.
func TestFromClientToServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "order:1001", "ä/ö ü%2F\n\t", strings.Repeat("ß", 512)} {
		nameIt := func(*http.Request) string { return name }
		server := httptest.NewServer(fence.NewGate(new(fence.Memory)).Handler(nameIt, echo, fence.AnyName()))
		client := &http.Client{Transport: &fence.Transport{Base: server.Client().Transport}}
		put := func(token uint64) error {
			r, err := http.NewRequestWithContext(fence.WithToken(t.Context(), name, token), "PUT", server.URL,
				strings.NewReader("x"))
			if err != nil {
				return err
			}
			resp, err := client.Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if err := fence.FromResponse(resp); err != nil || resp.StatusCode == 200 {
				return err
			}
			return errors.New(resp.Status)
		}
		if err := put(2); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if stale, ok := errors.AsType[*fence.StaleError](put(1)); !ok ||
			*stale != (fence.StaleError{Name: name, Have: 2, Want: 1}) {
			t.Errorf("%q: %v", name, stale)
		}
		server.Close()
	}
}

// checkOnly is a middleware as one might write it: it refuses old tokens, and then lets the handler run.
func checkOnly(next http.Handler) http.Handler {
	marks := new(fence.Memory)
	return fence.Required(nameOf, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, token, _ := fence.FromContext(r.Context())
		if err := marks.Raise(r.Context(), name, token); err != nil {
			fence.Refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// A handler that stops after the check overwrites the work of the next holder, unless a gate orders them.
func TestHandlerThatStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want string
	}{
		"check only": {checkOnly, "old"}, // this is the damage
		"gate": {func(h http.Handler) http.Handler {
			return fence.NewGate(new(fence.Memory)).Handler(nameOf, h)
		}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				value := ""
				goOn := make(chan struct{})
				h := c.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, token, _ := fence.FromContext(r.Context())
					if token == 1 {
						<-goOn
						value = "old"
						return
					}
					value = "new"
				}))
				done := make(chan int, 2)
				send := func(token string) {
					go func() { done <- answer(h, request("PUT", fence.HeaderToken, token)).StatusCode }()
					synctest.Wait()
				}
				send("1")
				send("2")
				close(goOn)
				synctest.Wait()
				if value != c.want || <-done != 200 || <-done != 200 {
					t.Errorf("the value is of the %s holder, want %s", value, c.want)
				}
			})
		})
	}
}

// A client that disconnects while its request waits has done nothing.
func TestRequestThatEndsAtAGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inside, goOn := make(chan struct{}), make(chan struct{})
		calls := 0
		h := fence.NewGate(new(fence.Memory)).Handler(nameOf,
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				calls++
				close(inside)
				<-goOn
			}))
		go answer(h, request("PUT", fence.HeaderToken, "1"))
		<-inside
		ctx, cancel := context.WithCancel(t.Context())
		status := make(chan int, 1)
		go func() {
			resp := answer(h, request("PUT", fence.HeaderToken, "2").WithContext(ctx))
			if !errors.Is(fence.FromResponse(resp), fence.ErrUnavailable) {
				t.Errorf("the problem is %v", fence.FromResponse(resp))
			}
			status <- resp.StatusCode
		}()
		synctest.Wait()
		cancel()
		if got := <-status; got != http.StatusServiceUnavailable || calls != 1 {
			t.Errorf("%d, %d calls", got, calls)
		}
		close(goOn)
	})
}

// If the marks fail, the answer is 503, without the reason.
func TestGateHandlerWhoseMarksFail(t *testing.T) {
	t.Parallel()
	h := fence.NewGate(marksFunc(func(context.Context, string, uint64) error {
		return errors.New("the secret server does not answer")
	})).Handler(nameOf, echo)
	resp := answer(h, request("PUT", fence.HeaderToken, "1"))
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 503 || strings.Contains(string(body), "secret") ||
		!strings.Contains(string(body), "#ErrUnavailable") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// No header crashes the server, and a token that is accepted was written in the canonical form.
func FuzzTokensOfRequests(f *testing.F) {
	for _, s := range []string{"1", "0", "", "9007199254740991", "9007199254740992", "1 ", "1,2", "١"} {
		f.Add(s, "order:7")
	}
	h := fence.Required(nameOf, echo)
	f.Fuzz(func(t *testing.T, token, name string) {
		resp := answer(h, request("PUT", fence.HeaderToken, token, fence.HeaderName, name))
		switch resp.StatusCode {
		case 200:
			body, _ := io.ReadAll(resp.Body)
			if want := `["order:7",` + token + ",true]\n"; string(body) != want {
				t.Errorf("%q: %s", token, body)
			}
		case 400:
		default:
			t.Errorf("%q, %q: %d", token, name, resp.StatusCode)
		}
	})
}
