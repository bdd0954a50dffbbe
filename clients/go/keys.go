package emissary

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// The keys of the account, for a key with the scope "keys".

// Keys gives all keys that the account has had, those that open nothing any more as well; none with its secret.
func (c *Client) Keys(ctx context.Context) *Iterator[Key] {
	return list[Key](ctx, c, "/v1/keys", nil)
}

// CreateKey makes a key. Its secret is in this answer and nowhere else; it can do no more than your own.
func (c *Client) CreateKey(ctx context.Context, name string, options *KeyOptions) (*NewKey, error) {
	given := orNone(options)
	body := struct {
		Name      string     `json:"name"`
		Scopes    *[]string  `json:"scopes,omitempty"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	}{Name: name, ExpiresAt: given.ExpiresAt}
	if given.Scopes != nil {
		body.Scopes = &given.Scopes // none at all is not the default, and is for the server to turn away
	}
	return post[NewKey](ctx, c, "keys", body, 0)
}

// RotateKey makes a key in place of this one, which opens for so long still; a day, where nothing is said.
func (c *Client) RotateKey(ctx context.Context, key string, options *RotateOptions) (*NewKey, error) {
	return post[NewKey](ctx, c, "keys/"+url.PathEscape(key)+"/rotate", orNone(options), 0)
}

// RevokeKey lets the key open nothing from now on.
func (c *Client) RevokeKey(ctx context.Context, key string) (*Key, error) {
	return ask[Key](ctx, c, call{method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(key)})
}
