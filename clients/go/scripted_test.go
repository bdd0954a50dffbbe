package emissary

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// asked is one request as it came.
type asked struct {
	line    string
	headers http.Header
	body    string
}

// scripted is a server that answers what it was told to, hangs up, and remembers what it was asked.
type scripted struct {
	*httptest.Server
	mutex  sync.Mutex
	script []http.HandlerFunc
	asked  []asked
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// answer is a whole answer in JSON; headers are names and values in turn.
func answer(status int, body any, headers ...string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			writer.Header().Set(headers[i], headers[i+1])
		}
		writer.WriteHeader(status)
		_ = json.NewEncoder(writer).Encode(body)
	}
}

func problem(status int, code string, headers ...string) http.HandlerFunc {
	return answer(status, map[string]any{"code": code, "detail": "this is " + code, "status": status}, headers...)
}

// lines sends this much, and then does what it is told to.
func lines(text string, then http.HandlerFunc) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(writer, text)
		writer.(http.Flusher).Flush()
		if then != nil {
			then(writer, request)
		}
	}
}

// silence lasts until the client hangs up.
func silence(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }

// follow starts a server that follows the script, and a client of it; whoever asks beyond it is hung up on.
func follow(t *testing.T, script ...http.HandlerFunc) (*scripted, *Client) {
	t.Helper()
	server := &scripted{script: script}
	server.Server = httptest.NewServer(http.HandlerFunc(server.serve))
	t.Cleanup(server.Close)
	client, err := New(server.URL, "em_test")
	if err != nil {
		t.Fatal(err)
	}
	client.HTTP = server.Client()
	return server, client
}

func (s *scripted) serve(writer http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	s.mutex.Lock()
	s.asked = append(s.asked, asked{request.Method + " " + request.URL.RequestURI(), request.Header, string(body)})
	next := hangUp
	if len(s.script) > 0 {
		next, s.script = s.script[0], s.script[1:]
	}
	s.mutex.Unlock()
	writer.Header().Set("Connection", "close")
	next(writer, request)
}

func (s *scripted) keys() map[string]bool {
	keys := map[string]bool{}
	for _, each := range s.asked {
		keys[each.headers.Get("Idempotency-Key")] = true
	}
	return keys
}
