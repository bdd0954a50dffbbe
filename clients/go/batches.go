package emissary

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const atOnce = 1000

// Batch has many pages read. They are sent as they come, so that a million take no memory here, and are on disk there
// when this returns.
func (c *Client) Batch(ctx context.Context, pages Pages, options *BatchOptions) (*Accepted, error) {
	if pages.open == nil {
		return nil, &BadRequest{"a batch needs pages: make them by Of, From, Lines or File"}
	}
	asked := call{method: http.MethodPost, path: "/v1/batch", body: orNone(options), pages: &pages}
	return ask[Accepted](ctx, c, asked)
}

// Crawl has a site read, from one page on.
func (c *Client) Crawl(ctx context.Context, url string, options *CrawlOptions) (*Begun, error) {
	body := struct {
		URL string `json:"url"`
		CrawlOptions
	}{url, orNone(options)}
	return post[Begun](ctx, c, "crawl", body, 0)
}

// Status is a batch or a crawl as it is now.
func (c *Client) Status(ctx context.Context, batch string) (*BatchStatus, error) {
	return steer[BatchStatus](ctx, c, http.MethodGet, batch, "", nil)
}

// Pause begins no further page.
func (c *Client) Pause(ctx context.Context, batch string) (*BatchStatus, error) {
	return steer[BatchStatus](ctx, c, http.MethodPost, batch, "/pause", nil)
}

// Resume goes on where it was paused.
func (c *Client) Resume(ctx context.Context, batch string) (*BatchStatus, error) {
	return steer[BatchStatus](ctx, c, http.MethodPost, batch, "/resume", nil)
}

// Retry reads once more what "failed" (also if only is empty), or what was "refused".
func (c *Client) Retry(ctx context.Context, batch, only string) (*Again, error) {
	if only == "" {
		only = "failed"
	}
	return steer[Again](ctx, c, http.MethodPost, batch, "/retry", map[string]string{"only": only})
}

// Cancel ends it: what has not been read will not be.
func (c *Client) Cancel(ctx context.Context, batch string) (*BatchStatus, error) {
	return steer[BatchStatus](ctx, c, http.MethodDelete, batch, "", nil)
}

// Watch gives a batch or a crawl as it is now, and again whenever some time has passed; the last one has ended.
func (c *Client) Watch(ctx context.Context, batch string) *Iterator[*BatchStatus] {
	return watch(ctx, func() (*BatchStatus, error) { return c.Status(ctx, batch) })
}

// Wait gives a batch or a crawl, once it has ended; progress, if it is not nil, is called with each look at it before.
func (c *Client) Wait(ctx context.Context, batch string, progress func(*BatchStatus)) (*BatchStatus, error) {
	return last(c.Watch(ctx, batch), progress)
}

// Items gives the pages in the order in which they came, without what they left behind; all, if status is empty.
func (c *Client) Items(ctx context.Context, batch, status string) *Iterator[Item] {
	path, err := pathOf(batch, "/items")
	if err != nil {
		return failed[Item](err)
	}
	return list[Item](ctx, c, path, url.Values{"status": {status}})
}

// Errors gives the pages that failed or were refused.
func (c *Client) Errors(ctx context.Context, batch string) *Iterator[Item] {
	path, err := pathOf(batch, "/errors")
	if err != nil {
		return failed[Item](err)
	}
	return list[Item](ctx, c, path, nil)
}

// Results gives the pages that have ended by now, as they did, with what they left behind; after is a cursor of one, or
// empty.
func (c *Client) Results(ctx context.Context, batch, after string) *Iterator[Result] {
	lines := c.ResultLines(ctx, batch, after)
	next := func() (result Result, err error) {
		if !lines.Next() {
			if err = lines.Err(); err == nil {
				err = io.EOF
			}
			return result, err
		}
		found, err := read[Result](lines.Value().JSON)
		if err != nil {
			return result, err
		}
		return *found, nil
	}
	return &Iterator[Result]{next: next, stop: lines.Close}
}

// ResultLines gives the same as the server sends it. Where the stream is cut, it is asked for again behind the last line
// that came whole.
func (c *Client) ResultLines(ctx context.Context, batch, after string) *Iterator[ResultLine] {
	path, err := pathOf(batch, "/results")
	if err != nil {
		return failed[ResultLine](err)
	}
	stream := &resultStream{client: c, path: path, after: after}
	return &Iterator[ResultLine]{next: func() (ResultLine, error) { return stream.next(ctx) }, stop: stream.close}
}

// resultStream remembers how far the results were read, over as many answers as that takes.
type resultStream struct {
	client      *Client
	path, after string
	tried       int
	answer      io.ReadCloser
	lines       *bufio.Reader
}

func (s *resultStream) next(ctx context.Context) (line ResultLine, err error) {
	line.JSON, err = s.line(ctx)
	for err != nil && err != io.EOF {
		s.close()
		s.tried++
		if err = s.client.rest(ctx, err, s.tried); err != nil {
			return line, err
		}
		line.JSON, err = s.line(ctx)
	}
	if err != nil {
		return line, err
	}
	marked, err := read[struct{ Cursor string }](line.JSON)
	if err != nil {
		return line, err
	}
	s.after, s.tried, line.Cursor = marked.Cursor, 0, marked.Cursor
	return line, nil
}

func (s *resultStream) line(ctx context.Context) ([]byte, error) {
	if s.answer == nil {
		asked := call{method: http.MethodGet, path: s.path, query: url.Values{"after": {s.after}}, accept: ndjson}
		answer, err := s.client.stream(ctx, asked, s.client.headers(asked))
		if err != nil {
			return nil, err
		}
		s.answer, s.lines = answer, bufio.NewReader(answer)
	}
	line, err := s.lines.ReadBytes('\n')
	return bytes.TrimSuffix(line, []byte{'\n'}), err
}

func (s *resultStream) close() {
	if s.answer != nil {
		s.answer.Close()
	}
	s.answer = nil
}

func steer[T any](ctx context.Context, c *Client, method, batch, part string, body any) (*T, error) {
	path, err := pathOf(batch, part)
	if err != nil {
		return nil, err
	}
	return ask[T](ctx, c, call{method: method, path: path, body: body})
}

type listed[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// list gives page after page of a list, each asked for when the one before has been read.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) *Iterator[T] {
	page := &listed[T]{Next: new(string)}
	next := func() (item T, err error) {
		for len(page.Data) == 0 {
			if page.Next == nil {
				return item, io.EOF
			}
			asked := url.Values{"after": {*page.Next}, "limit": {strconv.Itoa(atOnce)}}
			for name, values := range query {
				asked[name] = values
			}
			page, err = ask[listed[T]](ctx, c, call{method: http.MethodGet, path: path, query: asked})
			if err != nil {
				return item, err
			}
		}
		item, page.Data = page.Data[0], page.Data[1:]
		return item, nil
	}
	return &Iterator[T]{next: next}
}

// watch looks again and again, until what it sees has ended.
func watch[T interface{ HasEnded() bool }](ctx context.Context, look func() (T, error)) *Iterator[T] {
	var found T
	rest := time.Duration(0)
	next := func() (T, error) {
		if rest > 0 && found.HasEnded() {
			return found, io.EOF
		}
		if err := sleep(ctx, rest); err != nil {
			return found, err
		}
		rest = longer(rest)
		var err error
		found, err = look()
		return found, err
	}
	return &Iterator[T]{next: next}
}

func longer(rest time.Duration) time.Duration {
	switch rest = rest * 3 / 2; {
	case rest < firstLook:
		return firstLook
	case rest > lastLook:
		return lastLook
	}
	return rest
}

func last[T any](looks *Iterator[T], progress func(T)) (found T, err error) {
	for looks.Next() {
		found = looks.Value()
		if progress != nil {
			progress(found)
		}
	}
	return found, looks.Err()
}

func pathOf(batch, part string) (string, error) {
	kind, _, _ := strings.Cut(batch, "_")
	noun := map[string]string{"bat": "batch", "crl": "crawl"}[kind]
	if noun == "" {
		return "", &BadRequest{fmt.Sprintf("%q is no batch and no crawl: their names begin with bat_ and crl_", batch)}
	}
	return "/v1/" + noun + "/" + url.PathEscape(batch) + part, nil
}
