package emissary

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const longestShown = 200

// FieldError is one fault of a request, with a JSON pointer to its place.
type FieldError struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// APIError is a problem that the server answered with: a stable Code, a sentence that says what to do, and the HTTP
// status. RetryAfter is nil unless the server has named a time.
type APIError struct {
	Status     int
	Code       string
	Detail     string
	RetryAfter *time.Duration
	Errors     []FieldError
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s (%s)", e.Detail, e.Code)
}

// IsCallers tells whether the caller can mend it.
func (e *APIError) IsCallers() bool {
	return e.Status >= 400 && e.Status < 500
}

// ServerUnreachable says that nobody answered, or that the answer broke off, or was none of ours.
type ServerUnreachable struct {
	Detail string
	Cause  error
}

func (e *ServerUnreachable) Error() string { return e.Detail }

// Unwrap gives what the network said.
func (e *ServerUnreachable) Unwrap() error { return e.Cause }

// BadRequest says that what was asked for cannot be sent at all.
type BadRequest struct{ Detail string }

func (e *BadRequest) Error() string { return e.Detail }

// readProblem finds the error in an answer. Somebody between us and the server may have sent it: then it is in no form
// of ours.
func readProblem(status int, headers http.Header, body []byte) *APIError {
	problem := struct {
		Code   string       `json:"code"`
		Detail string       `json:"detail"`
		Errors []FieldError `json:"errors"`
	}{}
	if json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		problem.Code = "internal"
	}
	if problem.Detail == "" {
		problem.Detail = fmt.Sprintf("the server answered with %d: %s", status, shown(body))
	}
	return &APIError{status, problem.Code, problem.Detail, retryAfter(headers), problem.Errors}
}

func shown(body []byte) string {
	if len(body) > longestShown {
		body = body[:longestShown]
	}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(body), "�")); text != "" {
		return text
	}
	return "nothing more"
}

// retryAfter reads seconds, as our server names them; a date, which others may send, is as good as no time at all.
func retryAfter(headers http.Header) *time.Duration {
	seconds, err := strconv.ParseUint(headers.Get("Retry-After"), 10, 31)
	if err != nil {
		return nil
	}
	rest := time.Duration(seconds) * time.Second
	return &rest
}
