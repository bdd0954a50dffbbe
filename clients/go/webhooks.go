package emissary

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const longestTrial = 30 * time.Second

// Webhooks gives all webhooks of the account.
func (c *Client) Webhooks(ctx context.Context) *Iterator[WebhookStatus] {
	return list[WebhookStatus](ctx, c, "/v1/webhooks", nil)
}

// CreateWebhook names a receiver of these events, or else of what refers to it. Its secret is shown this once.
func (c *Client) CreateWebhook(ctx context.Context, url string, options *WebhookOptions) (*NewWebhook, error) {
	body := struct {
		URL string `json:"url"`
		WebhookOptions
	}{url, orNone(options)}
	return post[NewWebhook](ctx, c, "webhooks", body, 0)
}

// DeleteWebhook tells nothing there any more, and forgets its log.
func (c *Client) DeleteWebhook(ctx context.Context, webhook string) (*WebhookStatus, error) {
	return ask[WebhookStatus](ctx, c, call{method: http.MethodDelete, path: "/v1/webhooks/" + url.PathEscape(webhook)})
}

// Deliveries gives what was told there, or is on its way, the latest first; all, if state is empty.
func (c *Client) Deliveries(ctx context.Context, webhook, state string) *Iterator[Delivery] {
	path := "/v1/webhooks/" + url.PathEscape(webhook) + "/deliveries"
	return list[Delivery](ctx, c, path, url.Values{"state": {state}})
}

// Replay tells one delivery once more, or all that died since then.
func (c *Client) Replay(ctx context.Context, webhook string, request ReplayRequest) (*Replayed, error) {
	return post[Replayed](ctx, c, "webhooks/"+url.PathEscape(webhook)+"/replay", request, 0)
}

// TestWebhook sends a webhook.test event now, once, and says what came back.
func (c *Client) TestWebhook(ctx context.Context, webhook string) (*Trial, error) {
	path := "/v1/webhooks/" + url.PathEscape(webhook) + "/test"
	return ask[Trial](ctx, c, call{method: http.MethodPost, path: path, takes: longestTrial})
}
