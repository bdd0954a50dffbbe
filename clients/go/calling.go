package emissary

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// Version is that of the Emissary that this client was written with.
	Version = "0.1.0"

	jsonType    = "application/json"
	ndjson      = "application/x-ndjson"
	firstRest   = 250 * time.Millisecond
	longestRest = 10 * time.Second
	lookAgain   = 500 * time.Millisecond
)

// Patience is how long a silent server is waited for, how often it is asked, and which Retry-After is still waited for.
type Patience struct {
	Timeout     time.Duration
	Attempts    int
	LongestRest time.Duration
}

// call is what is asked of the API. A body is JSON, or pages behind their options.
type call struct {
	method, path string
	query        url.Values
	body         any
	pages        *Pages
	accept       string
	takes        time.Duration // what the server itself will take, at most
}

func (c call) target() string {
	given := url.Values{}
	for name, values := range c.query {
		if values[0] != "" {
			given[name] = values
		}
	}
	if len(given) == 0 {
		return c.path
	}
	return c.path + "?" + given.Encode()
}

// ask makes the call, and reads its answer.
func ask[T any](ctx context.Context, c *Client, asked call) (*T, error) {
	told, err := c.fetch(ctx, asked)
	if err != nil {
		return nil, err
	}
	return read[T](told)
}

// fetch makes the call, again where that can do no harm, and gives the bytes that came.
func (c *Client) fetch(ctx context.Context, asked call) ([]byte, error) {
	headers, waited := c.headers(asked), time.Duration(0)
	for tried := 1; ; tried++ {
		told, err := c.once(ctx, asked, headers)
		if err == nil {
			return told, nil
		}
		if isUnderWay(err) && waited < c.Patience.Timeout+asked.takes {
			waited, tried = waited+lookAgain, tried-1
			err = sleep(ctx, lookAgain)
		} else if asked.pages == nil || asked.pages.isRepeatable {
			err = c.rest(ctx, err, tried)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *Client) once(ctx context.Context, asked call, headers http.Header) ([]byte, error) {
	answer, err := c.stream(ctx, asked, headers)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return io.ReadAll(answer)
}

// stream gives the answer's body as it comes. It is asked for once: where it breaks off, the caller knows how to go on.
func (c *Client) stream(ctx context.Context, asked call, headers http.Header) (io.ReadCloser, error) {
	body, err := bodyOf(asked)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(asked.method, c.base+asked.target(), body)
	if err != nil {
		return nil, &BadRequest{err.Error()}
	}
	request.Header = headers.Clone()
	return listen(ctx, c.http(), request, c.Patience.Timeout+asked.takes)
}

// rest waits before the call is made once more, or gives back its error where that would be of no use.
func (c *Client) rest(ctx context.Context, err error, tried int) error {
	rest := firstRest
	for i := 1; i < tried && rest < longestRest; i++ {
		rest *= 2
	}
	if rest > longestRest {
		rest = longestRest
	}
	var problem *APIError
	if errors.As(err, &problem) && problem.RetryAfter != nil {
		rest = *problem.RetryAfter
	}
	if !isPassing(err) || tried >= c.Patience.Attempts || rest > c.Patience.LongestRest {
		return err
	}
	return sleep(ctx, rest)
}

func (c *Client) headers(asked call) http.Header {
	headers := http.Header{"Accept": {jsonType}, "User-Agent": {"emissary-client-go/" + Version}}
	if asked.accept != "" {
		headers.Set("Accept", asked.accept)
	}
	if c.key != "" {
		headers.Set("Authorization", "Bearer "+c.key)
	}
	if asked.method == http.MethodPost {
		// The same over all tries: whatever came of the first is the answer to the others.
		headers.Set("Idempotency-Key", newKey())
	}
	if asked.pages != nil {
		headers.Set("Content-Type", ndjson)
	} else if asked.body != nil {
		headers.Set("Content-Type", jsonType)
	}
	return headers
}

func bodyOf(asked call) (io.Reader, error) {
	if asked.body == nil {
		return nil, nil
	}
	options, err := json.Marshal(asked.body)
	if err != nil {
		return nil, &BadRequest{err.Error()}
	}
	if asked.pages == nil {
		return bytes.NewReader(options), nil
	}
	source, err := asked.pages.open()
	if err != nil {
		return nil, err
	}
	return &lineBody{source: source, waiting: append(options, '\n')}, nil
}

func read[T any](body []byte) (*T, error) {
	answer := new(T)
	if err := json.Unmarshal(body, answer); err != nil {
		detail := fmt.Sprintf("the server's answer is not what was expected (%s): is it an Emissary of this version?", err)
		return nil, &ServerUnreachable{Detail: detail, Cause: err}
	}
	return answer, nil
}

// isUnderWay tells whether it is our own first try that is in the way: its connection was cut, and it is still being
// answered.
func isUnderWay(err error) bool {
	var problem *APIError
	return errors.As(err, &problem) && problem.Code == "idempotency_in_flight"
}

func isPassing(err error) bool {
	var problem *APIError
	if errors.As(err, &problem) {
		switch problem.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var unreachable *ServerUnreachable
	return errors.As(err, &unreachable)
}

func newKey() string {
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		panic("there is no chance left in this machine: " + err.Error())
	}
	return hex.EncodeToString(key)
}

func sleep(ctx context.Context, rest time.Duration) error {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
