package emissary

import (
	"encoding/json"
	"time"
)

// Webhook is who is told when a job ends: a webhook of yours by its ID, or a receiver, which is told of everything unless
// Events are named.
type Webhook struct {
	ID     string   `json:"-"`
	URL    string   `json:"url"`
	Secret string   `json:"secret"`
	Events []string `json:"events,omitempty"`
}

// MarshalJSON writes the ID, or else the receiver.
func (w Webhook) MarshalJSON() ([]byte, error) {
	if w.ID != "" {
		return json.Marshal(w.ID)
	}
	type receiver Webhook
	return json.Marshal(receiver(w))
}

// PageOptions are what is wanted of a page, whichever it is. What is left out is the server's default.
type PageOptions struct {
	Formats         []string       `json:"formats,omitempty"`
	Fields          map[string]any `json:"fields,omitempty"` // a field schema: docs/fields.md
	Engine          string         `json:"engine,omitempty"`
	OnlyMainContent *bool          `json:"onlyMainContent,omitempty"`
	MaxAge          int            `json:"maxAge,omitempty"` // seconds
	Session         string         `json:"session,omitempty"`
	TimeoutMs       int            `json:"timeoutMs,omitempty"`
	Webhook         *Webhook       `json:"webhook,omitempty"`
	Priority        string         `json:"priority,omitempty"`
}

// ScrapeOptions are what is wanted of one page.
type ScrapeOptions struct {
	PageOptions
	Metadata map[string]any `json:"metadata,omitempty"`
}

// BatchOptions are what is wanted of every page of a batch.
type BatchOptions struct {
	PageOptions
	Name                string `json:"name,omitempty"`
	Dedupe              string `json:"dedupe,omitempty"`
	ExcludeRecentErrors bool   `json:"excludeRecentErrors,omitempty"`
}

// CrawlOptions are how far a crawl goes, and what is wanted of its pages.
type CrawlOptions struct {
	PageOptions
	Name            string   `json:"name,omitempty"`
	IncludePaths    []string `json:"includePaths,omitempty"` // regular expressions, looked for anywhere in path and query
	ExcludePaths    []string `json:"excludePaths,omitempty"`
	MaxDepth        *int     `json:"maxDepth,omitempty"`
	Limit           int      `json:"limit,omitempty"`
	AllowSubdomains bool     `json:"allowSubdomains,omitempty"`
	Sitemap         string   `json:"sitemap,omitempty"`
}

// JobsOptions are which jobs are listed; the host with its port, where that is not the usual one.
type JobsOptions struct {
	Status, Batch, Host string
}

// MapOptions are which pages of a site are listed.
type MapOptions struct {
	Search            string `json:"search,omitempty"`
	Limit             int    `json:"limit,omitempty"`
	Sitemap           string `json:"sitemap,omitempty"`
	IncludeSubdomains bool   `json:"includeSubdomains,omitempty"`
	TimeoutMs         int    `json:"timeoutMs,omitempty"`
}

// PlanRequest names the pages to plan for, or a crawl from one page on.
type PlanRequest struct {
	URLs      []string `json:"urls,omitempty"`
	URL       string   `json:"url,omitempty"`
	Limit     int      `json:"limit,omitempty"`
	TimeoutMs int      `json:"timeoutMs,omitempty"`
}

// UsageOptions name the first and the last day (this month up to today, where nothing is said), and what is added up:
// "day" unless it says "kind" or "host".
type UsageOptions struct {
	From, To time.Time
	By       string
}

// KeyOptions are what a key may do (read and write, where Scopes is nil), and until when; for ever, where no time is
// named.
type KeyOptions struct {
	Scopes    []string
	ExpiresAt *time.Time
}

// RotateOptions are how long the key before still opens; a day, where nothing is said.
type RotateOptions struct {
	GraceSeconds *int `json:"graceSeconds,omitempty"`
}

// WebhookOptions are of what a webhook is told, and how; where no events are named, of what refers to it.
type WebhookOptions struct {
	Events      []string `json:"events,omitempty"`
	Secret      string   `json:"secret,omitempty"`
	Description string   `json:"description,omitempty"`
	Active      *bool    `json:"active,omitempty"`
}

// ReplayRequest names one delivery by its ID, or all that died since a time.
type ReplayRequest struct {
	Delivery string     `json:"delivery,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
}

// Ptr gives a pointer to a value, for options whose zero is not their default.
func Ptr[T any](value T) *T { return &value }
