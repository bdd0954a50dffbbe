// Package emissary is a client of Emissary, which reads the web for people, openly: every verb of its API as typed calls.
package emissary

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Client is a client of one server. What it has beside its address may be changed before the first call.
type Client struct {
	Patience Patience
	HTTP     *http.Client // follows no redirects, whatever it says itself

	base, key string
}

// New makes a client. Without a URL or a key, EMISSARY_URL and EMISSARY_API_KEY are taken.
func New(server, key string) (*Client, error) {
	if server == "" {
		server = os.Getenv("EMISSARY_URL")
	}
	if key == "" {
		key = os.Getenv("EMISSARY_API_KEY")
	}
	if server == "" {
		return nil, &BadRequest{"no server is named: give its URL or set EMISSARY_URL"}
	}
	where, err := url.Parse(server)
	if err != nil || (where.Scheme != "http" && where.Scheme != "https") || where.Hostname() == "" || where.User != nil {
		detail := fmt.Sprintf("%q is no address of a server: write http://127.0.0.1:7733, or https://…", server)
		return nil, &BadRequest{detail}
	}
	patience := Patience{Timeout: time.Minute, Attempts: 4, LongestRest: time.Minute}
	base := where.Scheme + "://" + where.Host + strings.TrimRight(where.EscapedPath(), "/")
	return &Client{Patience: patience, HTTP: &http.Client{}, base: base, key: key}, nil
}

// http is our own copy of the caller's client: a key is shown to the server that was named, and to nobody else.
func (c *Client) http() *http.Client {
	own := *c.HTTP
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// Map lists the pages of a site, without reading them.
func (c *Client) Map(ctx context.Context, url string, options *MapOptions) (*SiteMap, error) {
	given := orNone(options)
	body := struct {
		URL string `json:"url"`
		MapOptions
	}{url, given}
	return post[SiteMap](ctx, c, "map", body, milliseconds(given.TimeoutMs, 30_000))
}

// Plan tells what reading these pages would come to, or a crawl from one page on; none of them is asked for.
func (c *Client) Plan(ctx context.Context, request PlanRequest) (*Plan, error) {
	return post[Plan](ctx, c, "plan", request, milliseconds(request.TimeoutMs, 10_000))
}

// Account tells what the account of the key may do, and what it has in line.
func (c *Client) Account(ctx context.Context) (*Account, error) {
	return ask[Account](ctx, c, call{method: http.MethodGet, path: "/v1/account"})
}

// Usage tells what was used from one day to another, both included.
func (c *Client) Usage(ctx context.Context, options *UsageOptions) *Iterator[UsageRow] {
	given := orNone(options)
	query := url.Values{"by": {given.By}, "from": {day(given.From)}, "to": {day(given.To)}}
	return list[UsageRow](ctx, c, "/v1/usage", query)
}

func post[T any](ctx context.Context, c *Client, verb string, body any, takes time.Duration) (*T, error) {
	return ask[T](ctx, c, call{method: http.MethodPost, path: "/v1/" + verb, body: body, takes: takes})
}

func orNone[T any](options *T) (given T) {
	if options != nil {
		given = *options
	}
	return given
}

func milliseconds(given, otherwise int) time.Duration {
	if given == 0 {
		given = otherwise
	}
	return time.Duration(given) * time.Millisecond
}

func day(date time.Time) string {
	if date.IsZero() {
		return ""
	}
	return date.Format("2006-01-02")
}
