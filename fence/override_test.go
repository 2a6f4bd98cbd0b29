package fence_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// A request that asks for another method or another path than it has is refused.
func TestOverridesOfTheMethodAreRefused(t *testing.T) {
	t.Parallel()
	const method = "X-HTTP-Method-Override"
	allowed, always := fence.AllowOverrides(), fence.TokensAlways()
	token := fence.HeaderToken
	for _, c := range []struct {
		what    string
		request *http.Request
		opts    []fence.HandlerOption
		status  int
	}{
		{"GET as PUT", request("GET", method, "PUT"), nil, 400},
		{"GET as PUT, in another way", request("GET", "x-http-method", "PUT"), nil, 400},
		{"GET as PUT, in a third way", request("GET", "X-Method-Override", "PUT"), nil, 400},
		{"HEAD as DELETE, empty", request("HEAD", method, ""), nil, 400},
		{"GET with a token", request("GET", token, "42", method, "PUT"), nil, 400},
		{"POST with a token", request("POST", token, "42", method, "PUT"), nil, 400},
		{"underscores", request("GET", "X_HTTP_Method_Override", "PUT"), nil, 400},
		{"an underscore", request("GET", "x-http_method", "PUT"), nil, 400},
		{"dots, which CGI makes underscores", request("GET", "X.Method.Override", "PUT"), nil, 400},
		{"a header beside the usual form", with(request("GET"), "x-http-method-OVERRIDE", "PUT"), nil, 400},

		{"another path", request("GET", "X-Original-URL", "/orders/8"), nil, 400},
		{"another path, in another way", request("GET", "x_rewrite_url", "/orders/8"), nil, 400},
		{"another path with a token", request("PUT", token, "42", "X-Original-URL", "/?id=8"), nil, 400},

		{"GET with a parameter", get("&_method=delete"), nil, 400},
		{"in upper case", get("&_METHOD=DELETE"), nil, 400},
		{"without a value", get("&_method"), nil, 400},
		{"behind a semicolon", get("&a=1;_method=DELETE"), nil, 400},
		{"as a list", get("&_method[]=DELETE"), nil, 400},
		{"as an entry", get("&_method%5ba%5d=DELETE"), nil, 400},
		{"escaped", get("&%5fm%65thod=DELETE"), nil, 400},
		{"with a value that is no escape", get("&_method=%zz"), nil, 400},
		{"beside a name that is no escape", get("&%zz=1;%5Fmethod=DELETE"), nil, 400},
		{"behind a blank", get("&+_method=DELETE"), nil, 400},
		{"with a dot, which PHP makes an underscore", get("&.method=DELETE"), nil, 400},
		{"with a zero byte", get("&_method%00a=DELETE"), nil, 400},
		{"with the name of a header", get("&X-HTTP-Method-Override=PUT"), nil, 400},
		{"with another name", get("&_method_override=PUT"), nil, 400},
		{"a form", form("GET", "application/x-www-form-urlencoded"), nil, 400},
		{"another form", form("GET", "Multipart/Form-Data; boundary=x"), nil, 400},
		{"a form, by the second of two types", also(form("GET", "text/plain"), "Content-Type",
			"application/x-www-form-urlencoded"), nil, 400},

		{"POST of a form, with a token", with(form("POST", "application/x-www-form-urlencoded"), token, "42"), nil,
			200},
		{"POST with a parameter, with a token", with(httptest.NewRequest("POST", "/?id=7&_method=put", nil), token,
			"42"), nil, 200},
		{"POST with a parameter", httptest.NewRequest("POST", "/?id=7&_method=put", nil), nil, 428},
		{"GET with a text", form("GET", "application/json"), nil, 200},
		{"GET with other parameters", get("&method=a;b=_method&x_method=1"), nil, 200},
		{"GET with other headers", request("GET", "X-Forwarded-Proto", "https", "X-Request-Id", "1"), nil, 200},
		{"allowed", request("GET", method, "PUT"), []fence.HandlerOption{allowed}, 200},
		{"allowed in a form", form("GET", "application/x-www-form-urlencoded"), []fence.HandlerOption{allowed}, 200},
		{"allowed, with tokens", request("GET", method, "PUT"), []fence.HandlerOption{allowed, always}, 428},
		{"GET", request("GET"), nil, 200},
		{"GET where tokens are wanted", request("GET"), []fence.HandlerOption{always}, 428},
		{"OPTIONS where tokens are wanted", request("OPTIONS"), []fence.HandlerOption{always}, 428},
		{"GET with a token where they are wanted", request("GET", token, "42"), []fence.HandlerOption{always}, 200},
	} {
		gate := fence.NewGate(new(fence.Memory))
		for what, h := range map[string]http.Handler{
			"required": fence.Required(nameOf, echo, c.opts...),
			"gate":     gate.Handler(nameOf, echo, c.opts...),
		} {
			resp := answer(h, c.request)
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status {
				t.Errorf("%s, %s: %d, want %d", c.what, what, resp.StatusCode, c.status)
			}
			if c.status == 400 && !strings.Contains(string(text), "left out") {
				t.Errorf("%s, %s: %s does not say what to do", c.what, what, text)
			}
		}
	}
}

// with adds a header in exactly this form.
func with(r *http.Request, header, value string) *http.Request {
	r.Header[header] = []string{value}
	return r
}

// also adds another value of a header.
func also(r *http.Request, header, value string) *http.Request {
	r.Header.Add(header, value)
	return r
}

// get is a GET with more in its query, as it was sent.
func get(more string) *http.Request {
	r := request("GET")
	r.URL.RawQuery += more
	return r
}

// form is a request with a form in its body.
func form(method, kind string) *http.Request {
	r := httptest.NewRequest(method, "/?id=7", strings.NewReader("_method=DELETE"))
	r.Header.Set("Content-Type", kind)
	return r
}
