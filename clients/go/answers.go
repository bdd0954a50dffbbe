package emissary

import (
	"encoding/json"
	"time"
)

// Outcome is what came back, in one word and in one sentence.
type Outcome struct {
	Kind       string     `json:"kind"`
	Code       string     `json:"code"`
	HTTPStatus int        `json:"httpStatus"` // 0: there was none
	RetryAt    *time.Time `json:"retryAt"`
	Detail     string     `json:"detail"`
	Evidence   []string   `json:"evidence"`
}

// Document is a page as data: only the formats that were asked for are there.
type Document struct {
	ID         string         `json:"id"`
	URL        string         `json:"url"`
	SourceURL  string         `json:"sourceUrl"`
	Title      string         `json:"title"`
	Language   string         `json:"language"`
	RawHTML    string         `json:"rawHtml"`
	HTML       string         `json:"html"`
	Markdown   string         `json:"markdown"`
	Text       string         `json:"text"`
	Links      []Link         `json:"links"`
	Images     []Image        `json:"images"`
	Metadata   map[string]any `json:"metadata"`
	Structured *Structured    `json:"structured"`
	Fields     map[string]any `json:"fields"`
	Missing    []string       `json:"missing"`
}

// Link is a link of a page, absolute.
type Link struct {
	URL  string `json:"url"`
	Text string `json:"text"`
	Rel  string `json:"rel"`
}

// Image is an image of a page, absolute.
type Image struct {
	URL string `json:"url"`
	Alt string `json:"alt"`
}

// Structured is what a page says of itself for machines.
type Structured struct {
	JSONLD    []any          `json:"jsonLd"`
	Microdata []any          `json:"microdata"`
	OpenGraph map[string]any `json:"openGraph"`
}

// Receipt tells who asked, under which rule, what came and when; docs/api.md has its fields.
type Receipt map[string]any

// WhyWaiting is why a job has not started yet.
type WhyWaiting struct {
	Lane   string     `json:"lane"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until"`
	Ahead  int        `json:"ahead"`
}

// Scraped is what came of a scrape, or why it waits.
type Scraped struct {
	ID          string      `json:"id"`
	Status      string      `json:"status"`
	Outcome     *Outcome    `json:"outcome"`
	Document    *Document   `json:"document"`
	Receipt     Receipt     `json:"receipt"`
	WhyWaiting  *WhyWaiting `json:"whyWaiting"`
	CreditsUsed int         `json:"creditsUsed"`
}

// HasEnded tells whether it is over.
func (s *Scraped) HasEnded() bool { return isEnd(s.Status) }

// Job is a job as it is now.
type Job struct {
	Scraped
	Kind       string     `json:"kind"`
	Attempts   int        `json:"attempts"`
	CreatedAt  time.Time  `json:"createdAt"`
	StartedAt  *time.Time `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
}

// JobLine is a job in a list, without what it left behind.
type JobLine struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Status     string     `json:"status"`
	URL        *string    `json:"url"`
	Host       *string    `json:"host"`
	Batch      *string    `json:"batch"`
	Attempts   int        `json:"attempts"`
	CreatedAt  time.Time  `json:"createdAt"`
	StartedAt  *time.Time `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
	Outcome    *Outcome   `json:"outcome"`
}

// Begun is a crawl that has begun.
type Begun struct {
	ID string `json:"id"`
}

// Fault is a page that was not accepted; the first is 0.
type Fault struct {
	Index int    `json:"index"`
	URL   string `json:"url"`
	Code  string `json:"code"`
}

// Accepted is a batch that has begun. Of the pages that were not accepted, the first thousand are named.
type Accepted struct {
	Begun
	Accepted      int     `json:"accepted"`
	Duplicates    int     `json:"duplicates"`
	InvalidCount  int     `json:"invalidCount"`
	Invalid       []Fault `json:"invalid"`
	ExcludedCount int     `json:"excludedCount"`
	Excluded      []Fault `json:"excluded"`
}

// Again is how many pages will be read once more.
type Again struct {
	Begun
	Again int `json:"again"`
}

// Counts are how many pages are how. All but Cached add up to the total; those are among the completed.
type Counts struct {
	Waiting   int `json:"waiting"`
	Active    int `json:"active"`
	Completed int `json:"completed"`
	Refused   int `json:"refused"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Cached    int `json:"cached"`
}

// Ended is how many pages are over.
func (c Counts) Ended() int { return c.Completed + c.Refused + c.Failed + c.Cancelled }

// LaneWait is a lane in which pages of a batch wait, and about how many.
type LaneWait struct {
	WhyWaiting
	Items int `json:"items"`
}

// BatchStatus is a batch or a crawl as it is now.
type BatchStatus struct {
	ID             string         `json:"id"`
	Status         string         `json:"status"`
	Total          int            `json:"total"`
	Counts         Counts         `json:"counts"`
	Name           string         `json:"name"`
	Outcomes       map[string]int `json:"outcomes"`
	Reason         string         `json:"reason"`
	PagesPerSecond float64        `json:"pagesPerSecond"` // 0: it is not known yet
	ETA            *time.Time     `json:"eta"`
	CreditsUsed    int            `json:"creditsUsed"`
	CreatedAt      time.Time      `json:"createdAt"`
	FinishedAt     *time.Time     `json:"finishedAt"`
	WhyWaiting     []LaneWait     `json:"whyWaiting"`
}

// HasEnded tells whether it is over.
func (s *BatchStatus) HasEnded() bool { return isEnd(s.Status) }

// Item is one page of a batch.
type Item struct {
	ID         string         `json:"id"`
	Index      int            `json:"index"`
	URL        string         `json:"url"`
	Status     string         `json:"status"`
	Part       string         `json:"part"`
	Depth      int            `json:"depth"`
	Attempts   int            `json:"attempts"`
	FinishedAt *time.Time     `json:"finishedAt"`
	Metadata   map[string]any `json:"metadata"`
	Outcome    *Outcome       `json:"outcome"`
}

// Result is a page that has ended, with what it left behind. Cursor leads on behind it.
type Result struct {
	Item
	Cursor   string    `json:"cursor"`
	Document *Document `json:"document"`
	Receipt  Receipt   `json:"receipt"`
}

// ResultLine is a result as the server sent it.
type ResultLine struct {
	Cursor string
	JSON   json.RawMessage
}

// MappedPage is a page of a site, which was not read.
type MappedPage struct {
	URL          string `json:"url"`
	Title        string `json:"title"`
	LastModified string `json:"lastModified"`
	Source       string `json:"source"`
}

// Unread is a list of pages that could not be read; the map lacks what is there.
type Unread struct {
	URL     string  `json:"url"`
	Outcome Outcome `json:"outcome"`
}

// SiteMap is the pages of a site, in the order in which they were found.
type SiteMap struct {
	Begun
	Complete bool         `json:"complete"`
	Links    []MappedPage `json:"links"`
	Unread   []Unread     `json:"unread"`
}

// HostPlan is what would be asked of one host, at its pace; Gap and Seconds are in seconds.
type HostPlan struct {
	Host    string    `json:"host"`
	URLs    int       `json:"urls"`
	Refused int       `json:"refused"`
	Robots  string    `json:"robots"`
	Gap     float64   `json:"gap"`
	Seconds float64   `json:"seconds"`
	ETA     time.Time `json:"eta"`
}

// Refused is a page that would not be read, and why.
type Refused struct {
	URL    string `json:"url"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Plan is what would happen if it began now.
type Plan struct {
	URLs         int        `json:"urls"`
	Duplicates   int        `json:"duplicates"`
	InvalidCount int        `json:"invalidCount"`
	Invalid      []Fault    `json:"invalid"`
	HostCount    int        `json:"hostCount"`
	Hosts        []HostPlan `json:"hosts"`
	RefusedCount int        `json:"refusedCount"`
	Refused      []Refused  `json:"refused"`
	Seconds      float64    `json:"seconds"`
	ETA          time.Time  `json:"eta"`
	Credits      int        `json:"credits"`
}

// Rate is how often an account may ask.
type Rate struct {
	PerMinute int `json:"perMinute"`
	Burst     int `json:"burst"`
}

// Allowance is what an account may do; nil is no limit.
type Allowance struct {
	Weight     float64 `json:"weight"`
	MostActive *int    `json:"mostActive"`
	MostQueued *int    `json:"mostQueued"`
	Rate       *Rate   `json:"rate"`
}

// Credits are what an account has left to use.
type Credits struct {
	Left      int `json:"left"`
	Reserved  int `json:"reserved"`
	Available int `json:"available"`
}

// Used is how many jobs ended, and how.
type Used struct {
	Jobs    int `json:"jobs"`
	Credits int `json:"credits"`
	Cached  int `json:"cached"`
	Failed  int `json:"failed"`
	Refused int `json:"refused"`
}

// UsedInMonth is what was used since the first day of the month; days as in 2030-01-31.
type UsedInMonth struct {
	Used
	From string `json:"from"`
	To   string `json:"to"`
}

// Account is the account of the key.
type Account struct {
	ID        string       `json:"id"`
	Allowance Allowance    `json:"allowance"`
	Queued    int          `json:"queued"`
	Active    int          `json:"active"`
	Credits   *Credits     `json:"credits"`
	Usage     *UsedInMonth `json:"usage"`
}

// UsageRow is what was used of one day, kind or host.
type UsageRow struct {
	Used
	Key string `json:"key"`
}

// Key is a key of the account, without its secret.
type Key struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Scopes     []string   `json:"scopes"`
	Hint       string     `json:"hint"` // how it begins; empty where it is not of the server's making
	Live       bool       `json:"live"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

// NewKey is a key that was just made: its Secret is shown this once.
type NewKey struct {
	Key
	Secret string `json:"key"`
}

// WebhookStatus is a webhook of the account as it is now, without the secret that its events are signed with.
type WebhookStatus struct {
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Events         []string  `json:"events"`
	Description    string    `json:"description"`
	Active         bool      `json:"active"`
	DisabledReason string    `json:"disabledReason"`
	CreatedAt      time.Time `json:"createdAt"`
}

// NewWebhook is a webhook that was just made: its Secret is shown this once.
type NewWebhook struct {
	WebhookStatus
	Secret string `json:"secret"`
}

// Delivery is an event on its way to a webhook, or at the end of it.
type Delivery struct {
	ID            string     `json:"id"`
	Event         string     `json:"event"`
	Type          string     `json:"type"`
	State         string     `json:"state"`
	Attempts      int        `json:"attempts"`
	LastStatus    int        `json:"lastStatus"` // 0: there was none
	LastError     string     `json:"lastError"`
	LastAttemptAt *time.Time `json:"lastAttemptAt"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
	Replayed      bool       `json:"replayed"`
	CreatedAt     time.Time  `json:"createdAt"`
}

// Replayed is how many events are told once more.
type Replayed struct {
	Replayed int `json:"replayed"`
}

// Trial is what came of a test of a webhook.
type Trial struct {
	Delivery string `json:"delivery"`
	State    string `json:"state"`
	Status   int    `json:"status"` // 0: there was none
	Detail   string `json:"detail"`
}

func isEnd(status string) bool {
	switch status {
	case "completed", "failed", "refused", "cancelled":
		return true
	}
	return false
}
