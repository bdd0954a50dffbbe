package emissary

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

type scrapeBody struct {
	URL   string `json:"url"`
	Async bool   `json:"async,omitempty"`
	ScrapeOptions
}

// Scrape reads one page, and waits for it as long as TimeoutMs says; then it may still be waiting.
func (c *Client) Scrape(ctx context.Context, url string, options *ScrapeOptions) (*Scraped, error) {
	given := orNone(options)
	body := scrapeBody{URL: url, ScrapeOptions: given}
	return post[Scraped](ctx, c, "scrape", body, milliseconds(given.TimeoutMs, 30_000))
}

// Submit has one page read some time: the answer is the job, as it waits.
func (c *Client) Submit(ctx context.Context, url string, options *ScrapeOptions) (*Scraped, error) {
	body := scrapeBody{URL: url, Async: true, ScrapeOptions: orNone(options)}
	return post[Scraped](ctx, c, "scrape", body, 0)
}

// Job is a job as it is now.
func (c *Client) Job(ctx context.Context, job string) (*Job, error) {
	return ask[Job](ctx, c, call{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(job)})
}

// Jobs gives the jobs of the account, the newest first: those that are so, of this batch, at this host; or all.
func (c *Client) Jobs(ctx context.Context, options *JobsOptions) *Iterator[JobLine] {
	given := orNone(options)
	query := url.Values{"status": {given.Status}, "batch": {given.Batch}, "host": {given.Host}}
	return list[JobLine](ctx, c, "/v1/jobs", query)
}

// WaitForJob is a job, once it has ended.
func (c *Client) WaitForJob(ctx context.Context, job string) (*Job, error) {
	looks := watch(ctx, func() (*Job, error) { return c.Job(ctx, job) })
	return last(looks, nil)
}

// CancelJob ends a job that has not ended.
func (c *Client) CancelJob(ctx context.Context, job string) (*Job, error) {
	return ask[Job](ctx, c, call{method: http.MethodDelete, path: "/v1/jobs/" + url.PathEscape(job)})
}

// Receipt tells who asked for a page, under which rule, what came and when.
func (c *Client) Receipt(ctx context.Context, receipt string) (Receipt, error) {
	found, err := ask[Receipt](ctx, c, call{method: http.MethodGet, path: "/v1/receipts/" + url.PathEscape(receipt)})
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// Document is a document by its own ID, as its job left it.
func (c *Client) Document(ctx context.Context, document string) (*Document, error) {
	return ask[Document](ctx, c, call{method: http.MethodGet, path: "/v1/documents/" + url.PathEscape(document)})
}

// Capture is the exchange that a document was made from, as WARC. It is kept for a day, and not of every page.
func (c *Client) Capture(ctx context.Context, document string) ([]byte, error) {
	path := "/v1/documents/" + url.PathEscape(document) + "/capture"
	return c.fetch(ctx, call{method: http.MethodGet, path: path, accept: "application/warc"})
}
