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

// nameOf is the name of the lock of what a request is about.
func nameOf(r *http.Request) string { return "order:" + r.URL.Query().Get("id") }

// echo is a handler that says which token it has been given.
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

// What a request may have in its headers, and what comes of it.
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
		for handler, h := range map[string]http.Handler{"Required": fence.Required(nameOf, echo), "Gate": gate.Handler(nameOf, echo)} {
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

// A request that the server can make no name of is wrong.
func TestRequestAboutNothing(t *testing.T) {
	t.Parallel()
	h := fence.Required(func(*http.Request) string { return "" }, echo)
	if resp := answer(h, request("PUT", fence.HeaderToken, "1")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", resp.StatusCode)
	}
}

// An old token is answered with 412 and a document that says all there is to know, for people and programs.
func TestProblemOfAStaleToken(t *testing.T) {
	t.Parallel()
	h := fence.NewGate(new(fence.Memory)).Handler(nameOf, echo)
	answer(h, request("PUT", fence.HeaderToken, "43"))
	resp := answer(h, request("PUT", fence.HeaderToken, "42"))
	var p map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 412 || p["status"] != 412.0 || p["have"] != 43.0 || p["want"] != 42.0 || p["name"] != "order:7" ||
		p["title"] != fence.ErrStale.Error() || p["type"] != "https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#ErrStale" || p["detail"] == nil {
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

// What Refuse was given comes out of FromResponse, and what is not for the client's eyes does not.
func TestProblemsThereAndBack(t *testing.T) {
	t.Parallel()
	secret := errors.New("password=hunter2")
	for _, c := range []struct {
		err    error
		status int
		want   error // nil: nothing is told
	}{
		{&fence.StaleError{Name: "a", Have: fence.MaxToken, Want: fence.MaxToken - 1}, 412, fence.ErrStale},
		{fence.ErrStale, 412, fence.ErrStale},
		{fence.ErrNoToken, 428, fence.ErrNoToken},
		{fence.Valid("", 1), 400, fence.ErrInvalid},
		{fmt.Errorf("raising: %w", fence.Valid("a", 0)), 400, fence.ErrInvalid},
		{fence.DBMarks{DB: new(sql.DB), Table: fence.Table{Name: "hunter2 marks"}}.Raise(t.Context(), "a", 1), 500, nil}, // nothing that the client can mend
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

// Other responses are nobody's business, and their bodies are left as they are.
func TestResponsesOfOthers(t *testing.T) {
	t.Parallel()
	const ours = `{"type":"https://pkg.go.dev/github.com/leasehold-go/leasehold/fence#ErrStale","status":412,"have":2,"want":1}`
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
		resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body))}
		err := fence.FromResponse(resp)
		body, readErr := io.ReadAll(resp.Body)
		if err != nil || readErr != nil || string(body) != c.body {
			t.Errorf("%s %.20s: %v; the body is %.20s, %v", c.kind, c.body, err, body, readErr)
		}
	}
	resp := &http.Response{StatusCode: 412, Header: http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}}, Body: broken{strings.NewReader("{")}}
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
	r := (&http.Request{Method: "PUT", URL: &url.URL{Scheme: "http", Host: "a"}}).WithContext(fence.WithToken(t.Context(), "a", 1))
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

// A redirect takes the token along, to another host, too, as the documents say.
func TestTokenOfARedirect(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(fence.Required(nameOf, echo))
	defer target.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/?id=7", http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	client := &http.Client{Transport: &fence.Transport{Base: first.Client().Transport}}
	r, err := http.NewRequestWithContext(fence.WithToken(t.Context(), "order:7", 42), "PUT", first.URL, strings.NewReader("x"))
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

// roundTrip is a RoundTripper that a test answers for.
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

// The transport sends what the context carries, changes nothing that it was given, and keeps back what has no token.
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
		{"name that must be escaped", fence.WithToken(t.Context(), "a b/ä\n%", 1), "PUT", "", nil, "1", url.PathEscape("a b/ä\n%")},
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
			if token, name := r.Header.Get(fence.HeaderToken), r.Header.Get(fence.HeaderName); token != c.token || name != c.name {
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
		server := httptest.NewServer(fence.NewGate(new(fence.Memory)).Handler(func(*http.Request) string { return name }, echo, fence.AnyName()))
		client := &http.Client{Transport: &fence.Transport{Base: server.Client().Transport}}
		put := func(token uint64) error {
			r, err := http.NewRequestWithContext(fence.WithToken(t.Context(), name, token), "PUT", server.URL, strings.NewReader("x"))
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
		if stale, ok := errors.AsType[*fence.StaleError](put(1)); !ok || *stale != (fence.StaleError{Name: name, Have: 2, Want: 1}) {
			t.Errorf("%q: %v", name, stale)
		}
		server.Close()
	}
}

// checkOnly is a middleware as one would write it: it refuses old tokens, and then lets the handler run.
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

// A handler that stops after the check writes over the work of the next holder, unless a gate keeps them in order.
func TestHandlerThatStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want string
	}{
		"check only": {checkOnly, "old"}, // this is the damage
		"gate":       {func(h http.Handler) http.Handler { return fence.NewGate(new(fence.Memory)).Handler(nameOf, h) }, "new"},
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

// A client that goes away while its request waits has done nothing.
func TestRequestThatEndsAtAGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inside, goOn := make(chan struct{}), make(chan struct{})
		calls := 0
		h := fence.NewGate(new(fence.Memory)).Handler(nameOf, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
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

// Where the marks are away, the answer is 503, and says so without the reason.
func TestGateHandlerWithoutItsMarks(t *testing.T) {
	t.Parallel()
	h := fence.NewGate(marksFunc(func(context.Context, string, uint64) error { return errors.New("secret place is away") })).Handler(nameOf, echo)
	resp := answer(h, request("PUT", fence.HeaderToken, "1"))
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 503 || strings.Contains(string(body), "secret") || !strings.Contains(string(body), "#ErrUnavailable") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// No header makes the server stumble, and a token that is let in was written as it should be.
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

// A request that says that it has another method than it has does not pass as a reading one.
func TestOverridesOfTheMethodAreRefused(t *testing.T) {
	t.Parallel()
	writes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "written") })
	token := fence.HeaderToken
	for _, c := range []struct {
		what    string
		request *http.Request
		opts    []fence.HandlerOption
		status  int
	}{
		{"GET as PUT", request("GET", "X-HTTP-Method-Override", "PUT"), nil, 400},
		{"GET as PUT, in another way", request("GET", "x-http-method", "PUT"), nil, 400},
		{"GET as PUT, in a third way", request("GET", "X-Method-Override", "PUT"), nil, 400},
		{"HEAD as DELETE, empty", request("HEAD", "X-HTTP-Method-Override", ""), nil, 400},
		{"GET with a token", request("GET", token, "42", "X-HTTP-Method-Override", "PUT"), nil, 400},
		{"POST with a token", request("POST", token, "42", "X-HTTP-Method-Override", "PUT"), nil, 400},
		{"GET with a parameter", httptest.NewRequest("GET", "/?id=7&_method=delete", nil), nil, 400},
		{"allowed", request("GET", "X-HTTP-Method-Override", "PUT"), []fence.HandlerOption{fence.AllowOverrides()}, 200},
		{"allowed, with tokens", request("GET", "X-HTTP-Method-Override", "PUT"), []fence.HandlerOption{fence.AllowOverrides(), fence.TokensAlways()}, 428},
		{"GET", request("GET"), nil, 200},
		{"GET where tokens are wanted", request("GET"), []fence.HandlerOption{fence.TokensAlways()}, 428},
		{"OPTIONS where tokens are wanted", request("OPTIONS"), []fence.HandlerOption{fence.TokensAlways()}, 428},
		{"GET with a token where they are wanted", request("GET", token, "42"), []fence.HandlerOption{fence.TokensAlways()}, 200},
	} {
		gate := fence.NewGate(new(fence.Memory))
		for what, h := range map[string]http.Handler{"required": fence.Required(nameOf, writes, c.opts...), "gate": gate.Handler(nameOf, writes, c.opts...)} {
			if got := answer(h, c.request).StatusCode; got != c.status {
				t.Errorf("%s, %s: %d, want %d", c.what, what, got, c.status)
			}
		}
	}
}

// What one resource is called has one mark.
func TestNamesThatMayStandForTheSameAreRefused(t *testing.T) {
	t.Parallel()
	gate := fence.NewGate(new(fence.Memory))
	at := func(id string, opts ...fence.HandlerOption) int {
		r := request("PUT", fence.HeaderToken, "42")
		r.URL.RawQuery = url.Values{"id": {id}}.Encode()
		return answer(gate.Handler(nameOf, echo, opts...), r).StatusCode
	}
	for _, id := range []string{"../1", "..", ".", "a/../1", "a/./1", "%2e%2e%2f1", "%2E1", `..\1`, "a\x001", "a\n1", "a//1", "\u0085"} {
		if got := at(id); got != 400 {
			t.Errorf("%q: %d, want 400", id, got)
		}
	}
	for _, id := range []string{"1", "a.b", "..a", "a/b", "100%", "größe", "a...b"} {
		if got := at(id); got != 200 {
			t.Errorf("%q: %d, want 200", id, got)
		}
	}
	upper := request("PUT", fence.HeaderToken, "50", fence.HeaderName, "Order:A")
	upper.URL.RawQuery = "id=A"
	lower := request("PUT", fence.HeaderToken, "49", fence.HeaderName, "order:a")
	lower.URL.RawQuery = "id=a"
	folding := gate.Handler(nameOf, echo, fence.FoldCase())
	w := answer(folding, upper)
	if text, _ := io.ReadAll(w.Body); w.StatusCode != 200 || string(text) != `["order:a",50,true]`+"\n" {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	if got := answer(folding, lower).StatusCode; got != 412 {
		t.Errorf("the other spelling has a mark of its own: %d", got)
	}
}
