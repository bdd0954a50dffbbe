package emissary

// Every verb against a running server on the local web; `./emissary test-clients` starts both.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func served(t *testing.T) *Client {
	t.Helper()
	client, err := New("", "")
	check(t, err)
	return client
}

func site(t *testing.T, name, path string) string {
	t.Helper()
	web := map[string]string{}
	_ = json.Unmarshal([]byte(os.Getenv("EMISSARY_TEST_WEB")), &web)
	if web[name] == "" {
		t.Fatalf("the local web has no %s: run ./emissary test-clients", name)
	}
	return web[name] + path
}

func indexes(t *testing.T, items *Iterator[Item]) []int {
	t.Helper()
	found, err := items.All()
	check(t, err)
	numbers := []int{}
	for _, item := range found {
		numbers = append(numbers, item.Index)
	}
	return numbers
}

func TestAPageComesAsTypes(t *testing.T) {
	client := served(t)
	options := ScrapeOptions{PageOptions: PageOptions{
		Formats: []string{"markdown", "links"},
		Fields:  map[string]any{"price": map[string]any{"css": "[itemprop=price]", "attr": "content", "type": "number"}},
	}}
	page, err := client.Scrape(ctx, site(t, "shop", "/product/1"), &options)
	check(t, err)
	same(t, []any{page.Status, page.HasEnded(), page.CreditsUsed, page.Outcome.Code}, []any{"completed", true, 1, "ok"})
	same(t, page.Document.Markdown != "" && page.Document.HTML == "" && len(page.Document.Links) > 0, true)
	_, isNumber := page.Document.Fields["price"].(float64)
	same(t, isNumber, true)
	receipt, err := client.Receipt(ctx, page.Receipt["id"].(string))
	check(t, err)
	same(t, receipt["sha256"], page.Receipt["sha256"])
}

func TestADocumentAndWhatItWasMadeFromAreThereByItsID(t *testing.T) {
	client := served(t)
	options := ScrapeOptions{PageOptions: PageOptions{Formats: []string{"text"}}}
	page, err := client.Scrape(ctx, site(t, "host1", "/small?kept"), &options)
	check(t, err)
	document, err := client.Document(ctx, page.Document.ID)
	check(t, err)
	same(t, document, page.Document)
	capture, err := client.Capture(ctx, document.ID)
	check(t, err)
	same(t, strings.HasPrefix(string(capture), "WARC/1.1"), true)
	same(t, strings.Contains(string(capture), "A small page"), true)
	_, err = client.Capture(ctx, "doc_1")
	told := fails[*APIError](t, err)
	same(t, []any{told.Status, told.Code}, []any{404, "not_found"})
}

func TestARefusalIsAnAnswerAndNoError(t *testing.T) {
	page, err := served(t).Scrape(ctx, site(t, "closed", "/prices"), nil)
	check(t, err)
	same(t, []any{page.Status, page.Outcome.Kind, page.Outcome.Code}, []any{"refused", "refusal", "robots"})
	same(t, page.Document == nil, true)
}

func TestAJobIsWaitedForAndCanNoLongerBeCancelled(t *testing.T) {
	client := served(t)
	options := ScrapeOptions{PageOptions{Formats: []string{"text"}}, map[string]any{"mine": 7}}
	begun, err := client.Submit(ctx, site(t, "host1", "/small"), &options)
	check(t, err)
	job, err := client.WaitForJob(ctx, begun.ID)
	check(t, err)
	same(t, []any{job.ID, job.Status, job.Kind}, []any{begun.ID, "completed", "scrape.http"})
	same(t, strings.Contains(job.Document.Text, "A small page"), true)
	_, err = client.CancelJob(ctx, begun.ID)
	told := fails[*APIError](t, err)
	same(t, []any{told.Status, told.Code}, []any{409, "job_finished"})
}

func TestJobsAreListedByWhatTheyAre(t *testing.T) {
	client := served(t)
	begun, err := client.Batch(ctx, Of(site(t, "host1", "/small?listed"), site(t, "closed", "/listed")), nil)
	check(t, err)
	_, err = client.Wait(ctx, begun.ID, nil)
	check(t, err)
	found, err := client.Jobs(ctx, &JobsOptions{Batch: begun.ID}).All()
	check(t, err)
	same(t, len(found), 2)
	refused, read := found[0], found[1]
	same(t, []any{*refused.URL, refused.Status, *refused.Batch}, []any{site(t, "closed", "/listed"), "refused", begun.ID})
	same(t, refused.Outcome.Code, "robots")
	found, err = client.Jobs(ctx, &JobsOptions{Batch: begun.ID, Host: *read.Host}).All()
	check(t, err)
	same(t, len(found) == 1 && found[0].ID == read.ID, true)
	found, err = client.Jobs(ctx, &JobsOptions{Batch: begun.ID, Status: "failed"}).All()
	check(t, err)
	same(t, len(found), 0)
}

func TestAWebhookIsNamedByItsID(t *testing.T) {
	client := served(t)
	options := PageOptions{Webhook: &Webhook{ID: "whk_" + strings.Repeat("0", 26)}}
	_, err := client.Scrape(ctx, site(t, "host1", "/small"), &ScrapeOptions{PageOptions: options})
	same(t, fails[*APIError](t, err).Code, "unknown_webhook")
	_, err = client.Batch(ctx, Of(site(t, "host1", "/small")), &BatchOptions{PageOptions: options})
	same(t, fails[*APIError](t, err).Code, "unknown_webhook")
	_, err = client.Crawl(ctx, site(t, "host1", "/small"), &CrawlOptions{PageOptions: options})
	same(t, fails[*APIError](t, err).Code, "unknown_webhook")
}

func TestAWebhookIsMadeTestedReadReplayedAndRemoved(t *testing.T) {
	client := served(t)
	options := WebhookOptions{Events: []string{"crawl.completed"}, Description: "mine"}
	made, err := client.CreateWebhook(ctx, site(t, "hooks", "/hook?go"), &options)
	check(t, err)
	same(t, strings.HasPrefix(made.Secret, "whsec_"), true)
	same(t, []any{made.Events, made.Description, made.Active}, []any{options.Events, "mine", true})
	webhooks, err := client.Webhooks(ctx).All()
	check(t, err)
	listed := map[string]WebhookStatus{}
	for _, webhook := range webhooks {
		listed[webhook.ID] = webhook
	}
	same(t, listed[made.ID], made.WebhookStatus)
	trial, err := client.TestWebhook(ctx, made.ID)
	check(t, err)
	same(t, []any{trial.State, trial.Status}, []any{"delivered", 204})
	told, err := client.Deliveries(ctx, made.ID, "delivered").All()
	check(t, err)
	same(t, len(told), 1)
	same(t, []any{told[0].ID, told[0].Type, told[0].LastStatus}, []any{trial.Delivery, "webhook.test", 204})
	told, err = client.Deliveries(ctx, made.ID, "dead").All()
	check(t, err)
	same(t, len(told), 0)
	replayed, err := client.Replay(ctx, made.ID, ReplayRequest{Delivery: trial.Delivery})
	check(t, err)
	same(t, replayed.Replayed, 1)
	replayed, err = client.Replay(ctx, made.ID, ReplayRequest{Since: &made.CreatedAt})
	check(t, err)
	same(t, replayed.Replayed, 0)
	deleted, err := client.DeleteWebhook(ctx, made.ID)
	check(t, err)
	same(t, deleted.ID, made.ID)
	_, err = client.Replay(ctx, made.ID, ReplayRequest{Delivery: trial.Delivery})
	same(t, fails[*APIError](t, err).Status, 404)
}

func TestKeysAreMadeListedRotatedAndRevoked(t *testing.T) {
	client, ends := served(t), time.Date(2999, time.January, 31, 0, 0, 0, 0, time.UTC)
	made, err := client.CreateKey(ctx, "go", &KeyOptions{Scopes: []string{"read"}, ExpiresAt: &ends})
	check(t, err)
	same(t, []any{made.Name, made.Scopes, made.Live, made.ExpiresAt.Equal(ends)}, []any{"go", []string{"read"}, true, true})
	same(t, made.Hint != "" && strings.HasPrefix(made.Secret, made.Hint), true)
	next, err := client.RotateKey(ctx, made.ID, &RotateOptions{GraceSeconds: Ptr(0)})
	check(t, err)
	_, err = opened(t, made.Secret).Account(ctx)
	same(t, fails[*APIError](t, err).Status, 401)
	_, err = opened(t, next.Secret).Account(ctx)
	check(t, err)
	revoked, err := client.RevokeKey(ctx, next.ID)
	check(t, err)
	same(t, revoked.Live, false)
	keys, err := client.Keys(ctx).All()
	check(t, err)
	live := map[string]bool{}
	for _, key := range keys {
		if key.Name == "go" {
			live[key.ID] = key.Live
		}
	}
	same(t, live, map[string]bool{made.ID: false, next.ID: false})
	_, err = client.RevokeKey(ctx, "key_1")
	same(t, fails[*APIError](t, err).Code, "not_found")
}

func TestAKeyThatIsMadeWithNothingSaidReadsAndWrites(t *testing.T) {
	plain, err := served(t).CreateKey(ctx, "go, plain", nil)
	check(t, err)
	same(t, plain.Scopes, []string{"read", "write"})
	_, err = served(t).CreateKey(ctx, "go, none", &KeyOptions{Scopes: []string{}})
	same(t, fails[*APIError](t, err).Status, 400)
}

func opened(t *testing.T, key string) *Client {
	t.Helper()
	client, err := New("", key)
	check(t, err)
	return client
}

func TestABatchTakesWhatComesAndTellsHowFarItIs(t *testing.T) {
	client, pages := served(t), []Page{}
	for _, number := range []int{1, 2, 2, 3} {
		pages = append(pages, Page{URL: site(t, "host2", fmt.Sprintf("/page/%d", number))})
	}
	closed := Page{URL: site(t, "closed", "/a"), Metadata: map[string]any{"n": "1"}}
	pages = append(pages, Page{URL: "nonsense"}, closed)
	accepted, err := client.Batch(ctx, Of(pages...), &BatchOptions{Name: "mine"})
	check(t, err)
	same(t, []int{accepted.Accepted, accepted.Duplicates, accepted.InvalidCount}, []int{4, 1, 1})
	same(t, []any{accepted.Invalid[0].Index, accepted.Invalid[0].Code}, []any{4, "invalid_url"})
	seen := []*BatchStatus{}
	status, err := client.Wait(ctx, accepted.ID, func(now *BatchStatus) { seen = append(seen, now) })
	check(t, err)
	same(t, []any{status.Status, status.Name, status.Total}, []any{"completed", "mine", 4})
	same(t, []int{status.Counts.Completed, status.Counts.Refused, status.Counts.Ended()}, []int{3, 1, 4})
	same(t, seen[len(seen)-1], status)

	refused, err := client.Errors(ctx, accepted.ID).All()
	check(t, err)
	same(t, []any{len(refused), refused[0].URL, refused[0].Metadata}, []any{1, closed.URL, closed.Metadata})
	same(t, indexes(t, client.Items(ctx, accepted.ID, "")), []int{0, 1, 2, 3})
	same(t, indexes(t, client.Items(ctx, accepted.ID, "refused")), []int{3})
	results, err := client.Results(ctx, accepted.ID, "").All()
	check(t, err)
	order := []int{}
	for _, result := range results {
		order = append(order, result.Index)
		same(t, result.Document == nil, result.Status == "refused")
	}
	others, err := client.Results(ctx, accepted.ID, results[1].Cursor).All()
	check(t, err)
	same(t, []int{others[0].Index, others[1].Index}, order[2:])
	sort.Ints(order)
	same(t, order, []int{0, 1, 2, 3})
}

func TestAFileOfLinesMayHaveURLsAndObjects(t *testing.T) {
	client, file := served(t), filepath.Join(t.TempDir(), "pages.txt")
	text := fmt.Sprintf("%s\n\n{\"url\": %q, \"metadata\": {\"n\": \"1\"}}", site(t, "host3", "/a"), site(t, "host3", "/b"))
	check(t, os.WriteFile(file, []byte(text), 0o600))
	accepted, err := client.Batch(ctx, File(file), nil)
	check(t, err)
	items, err := client.Items(ctx, accepted.ID, "").All()
	check(t, err)
	same(t, []any{len(items), len(items[0].Metadata), items[1].Metadata["n"]}, []any{2, 0, "1"})
	_, err = client.Batch(ctx, File(file+".not"), nil)
	same(t, errors.Is(err, fs.ErrNotExist), true)
}

func TestABatchIsSteered(t *testing.T) {
	client := served(t)
	accepted, err := client.Batch(ctx, Of(site(t, "trouble", "/status/500?a"), site(t, "host4", "/x")), nil)
	check(t, err)
	status, err := client.Pause(ctx, accepted.ID)
	check(t, err)
	same(t, status.Status, "paused")
	status, err = client.Resume(ctx, accepted.ID)
	check(t, err)
	same(t, status.Status, "running")
	status, err = client.Cancel(ctx, accepted.ID)
	check(t, err)
	same(t, status.Status, "cancelled")
	status, err = client.Wait(ctx, accepted.ID, nil)
	check(t, err)
	same(t, status.Counts.Ended(), 2)
	_, err = client.Resume(ctx, accepted.ID)
	same(t, fails[*APIError](t, err).Code, "batch_finished")
}

func TestWhatWasRefusedIsReadOnceMoreIfThatIsWanted(t *testing.T) {
	client := served(t)
	accepted, err := client.Batch(ctx, Of(site(t, "closed", "/b")), nil)
	check(t, err)
	_, err = client.Wait(ctx, accepted.ID, nil)
	check(t, err)
	again, err := client.Retry(ctx, accepted.ID, "")
	check(t, err)
	same(t, again.Again, 0)
	again, err = client.Retry(ctx, accepted.ID, "refused")
	check(t, err)
	same(t, again.Again, 1)
	status, err := client.Wait(ctx, accepted.ID, nil)
	check(t, err)
	same(t, status.Counts.Refused, 1)
}

func TestASiteIsCrawledMappedAndPlanned(t *testing.T) {
	client, news := served(t), site(t, "news", "/")
	begun, err := client.Crawl(ctx, news, &CrawlOptions{Limit: 3, MaxDepth: Ptr(5)})
	check(t, err)
	status, err := client.Wait(ctx, begun.ID, nil)
	check(t, err)
	same(t, status.Status, "completed")
	read := 0
	results := client.Results(ctx, begun.ID, "")
	for results.Next() {
		if result := results.Value(); result.Part == "page" && result.Status == "completed" {
			read++
		}
	}
	check(t, results.Err())
	same(t, read, 3)
	found, err := client.Map(ctx, news, &MapOptions{Limit: 4})
	check(t, err)
	same(t, []any{found.Complete, len(found.Links)}, []any{false, 4})
	plan, err := client.Plan(ctx, PlanRequest{URLs: []string{site(t, "host5", "/a"), site(t, "closed", "/prices")}})
	check(t, err)
	same(t, []any{plan.URLs, plan.RefusedCount, plan.Refused[0].Code, plan.Credits}, []any{2, 1, "robots", 1})
	plan, err = client.Plan(ctx, PlanRequest{URL: news, Limit: 7})
	check(t, err)
	same(t, plan.URLs, 7)
}

func TestAnAccountSeesWhatItUsed(t *testing.T) {
	client := served(t)
	_, err := client.Scrape(ctx, site(t, "host6", "/small"), nil)
	check(t, err)
	account, err := client.Account(ctx)
	check(t, err)
	same(t, account.Usage.Jobs >= 1, true)
	rows, err := client.Usage(ctx, &UsageOptions{By: "kind"}).All()
	check(t, err)
	credits := 0
	for _, row := range rows {
		if row.Key == "scrape.http" {
			credits = row.Credits
		}
	}
	same(t, credits >= 1, true)
}

func TestAListIsReadOnPageByPage(t *testing.T) {
	client, urls := served(t), []string{}
	for number := 0; number < 1_050; number++ {
		urls = append(urls, site(t, "host7", fmt.Sprintf("/%d", number)))
	}
	accepted, err := client.Batch(ctx, Of(urls...), nil)
	check(t, err)
	same(t, len(indexes(t, client.Items(ctx, accepted.ID, ""))), 1_050)
	_, err = client.Cancel(ctx, accepted.ID)
	check(t, err)
}

func TestWhatIsNotThereIsAnErrorWithItsCode(t *testing.T) {
	for _, name := range []string{"bat_nothing", "crl_nothing"} {
		_, err := served(t).Status(ctx, name)
		same(t, fails[*APIError](t, err).Code, "not_found")
		_, err = served(t).Results(ctx, name, "").All()
		same(t, fails[*APIError](t, err).Status, 404)
	}
}

func TestAFaultNamesItsPlace(t *testing.T) {
	options := ScrapeOptions{PageOptions: PageOptions{Formats: []string{"paper"}}}
	_, err := served(t).Scrape(ctx, "http://127.0.0.1/", &options)
	told := fails[*APIError](t, err)
	same(t, told.Status, 400)
	same(t, told.Errors[0].Pointer, "/formats/0")
}

func TestAWrongKeyIsToldBeforeALongBatchWasSent(t *testing.T) {
	stranger, err := New("", "em_wrong_key")
	check(t, err)
	var number atomic.Int64
	_, err = stranger.Batch(ctx, From(func() (Page, error) {
		if number.Add(1) > 1_000_000 {
			return Page{}, errors.New("all of it was sent")
		}
		return Page{URL: fmt.Sprintf("http://127.0.0.1/%d", number.Load())}, nil
	}), nil)
	told := fails[*APIError](t, err)
	same(t, []any{told.Status, told.Code}, []any{401, "invalid_key"})
}
