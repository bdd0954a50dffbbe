package emissary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

var (
	ctx  = context.Background()
	page = map[string]any{"id": "job_1", "status": "completed", "creditsUsed": 1}
)

func line(cursor int) string {
	return fmt.Sprintf(`{"cursor":"%d","id":"job_%d","index":%d,"status":"completed"}`+"\n", cursor, cursor, cursor)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Fatalf("got %v, wanted %v", got, wanted)
	}
}

// fails finds the error of this type in what went wrong.
func fails[T error](t *testing.T, err error) (found T) {
	t.Helper()
	if !errors.As(err, &found) {
		t.Fatalf("got %T (%v), wanted %T", err, err, found)
	}
	return found
}

func TestWhoeverHangsUpIsAskedAgainWithTheSameKey(t *testing.T) {
	server, client := follow(t, hangUp, hangUp, answer(200, page))
	found, err := client.Scrape(ctx, "http://a/", nil)
	check(t, err)
	same(t, found.ID, "job_1")
	same(t, len(server.asked), 3)
	same(t, len(server.keys()), 1)
	for _, each := range server.asked {
		same(t, each.body, `{"url":"http://a/"}`)
		same(t, each.headers.Get("Authorization"), "Bearer em_test")
	}
}

func TestTwoCallsHaveTwoKeys(t *testing.T) {
	server, client := follow(t, answer(200, page), answer(200, page))
	for range []int{1, 2} {
		_, err := client.Scrape(ctx, "http://a/", nil)
		check(t, err)
	}
	same(t, len(server.keys()), 2)
}

func TestAServerThatAsksForPatienceGetsIt(t *testing.T) {
	for _, status := range []int{429, 503} {
		server, client := follow(t, problem(status, "queue_full", "Retry-After", "1"), answer(200, page))
		begun := time.Now()
		_, err := client.Scrape(ctx, "http://a/", nil)
		check(t, err)
		same(t, time.Since(begun) > 950*time.Millisecond, true)
		same(t, len(server.keys()), 1)
	}
}

func TestOurOwnFirstTryIsWaitedFor(t *testing.T) {
	script := []http.HandlerFunc{hangUp}
	for i := 0; i < 5; i++ {
		script = append(script, problem(409, "idempotency_in_flight", "Retry-After", "1"))
	}
	server, client := follow(t, append(script, answer(200, page))...)
	_, err := client.Scrape(ctx, "http://a/", nil)
	check(t, err)
	same(t, len(server.keys()), 1)
}

func TestMorePatienceThanWeHaveIsTold(t *testing.T) {
	_, client := follow(t, problem(429, "queue_full", "Retry-After", "3600"))
	_, err := client.Scrape(ctx, "http://a/", nil)
	told := fails[*APIError](t, err)
	same(t, []any{told.Status, told.Code, told.Detail, *told.RetryAfter, told.IsCallers()},
		[]any{429, "queue_full", "this is queue_full", time.Hour, true})
}

func TestWhatWillNotChangeIsAskedOnce(t *testing.T) {
	for _, status := range []int{307, 400, 401, 402, 404, 409, 422, 500} {
		server, client := follow(t, problem(status, "x", "Location", "/elsewhere"))
		_, err := client.Scrape(ctx, "http://a/", nil)
		same(t, fails[*APIError](t, err).Status, status)
		same(t, len(server.asked), 1)
	}
}

func TestPatienceEnds(t *testing.T) {
	server, client := follow(t)
	client.Patience.Attempts = 2
	_, err := client.Account(ctx)
	fails[*ServerUnreachable](t, err)
	same(t, len(server.asked), 2)
}

func TestSilenceIsNotWaitedOut(t *testing.T) {
	_, client := follow(t, lines(line(1), silence))
	client.Patience = Patience{Timeout: 200 * time.Millisecond, Attempts: 1}
	found, err := client.Results(ctx, "bat_1", "").All()
	same(t, len(found), 1)
	same(t, strings.Contains(fails[*ServerUnreachable](t, err).Detail, "nothing came"), true)
}

func TestACallIsGivenUpWithItsContextAlsoWhileItRests(t *testing.T) {
	_, client := follow(t, problem(503, "x", "Retry-After", "50"))
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err := client.Account(soon)
	same(t, err, context.DeadlineExceeded)
}

func TestSomebodyBetweenUsMayAnswerInAnotherForm(t *testing.T) {
	server, client := follow(t, lines("what?", nil), func(writer http.ResponseWriter, _ *http.Request) {
		writer.WriteHeader(404)
		_, _ = io.WriteString(writer, "<h1>Nothing</h1>")
	})
	_, err := client.Account(ctx)
	same(t, strings.Contains(fails[*ServerUnreachable](t, err).Detail, "not what was expected"), true)
	_, err = client.Account(ctx)
	same(t, strings.Contains(fails[*APIError](t, err).Detail, "<h1>Nothing"), true)
	same(t, len(server.asked), 2)
}

func TestResultsGoOnBehindTheLastLineThatCameWhole(t *testing.T) {
	cut := lines(line(1)+line(2)+line(3)[:20], hangUp)
	server, client := follow(t, cut, hangUp, lines(line(3)+line(4), nil))
	results, err := client.Results(ctx, "bat_1", "").All()
	check(t, err)
	cursors, wanted := []string{}, []string{"1", "2", "3", "4"}
	for _, result := range results {
		cursors = append(cursors, result.Cursor)
	}
	same(t, cursors, wanted)
	same(t, server.asked[0].line, "GET /v1/batch/bat_1/results")
	same(t, server.asked[1].line, "GET /v1/batch/bat_1/results?after=2")
	same(t, server.asked[2].line, "GET /v1/batch/bat_1/results?after=2")
	same(t, server.asked[0].headers.Get("Accept"), "application/x-ndjson")
}

func TestAStreamThatIsLeftInTheMiddleIsHungUpOn(t *testing.T) {
	left := make(chan bool)
	_, client := follow(t, lines(line(1)+line(2), func(writer http.ResponseWriter, request *http.Request) {
		silence(writer, request)
		close(left)
	}))
	results := client.Results(ctx, "bat_1", "")
	same(t, results.Next(), true)
	results.Close()
	<-left
	same(t, results.Next(), false)
	check(t, results.Err())
}

func TestPagesThatCanBeHadOnlyOnceAreSentOnlyOnce(t *testing.T) {
	server, client := follow(t, hangUp, hangUp, answer(202, map[string]any{"id": "bat_1", "accepted": 1}))
	_, err := client.Batch(ctx, Lines(strings.NewReader("http://a/\n")), nil)
	fails[*ServerUnreachable](t, err)
	same(t, len(server.asked), 1)
	options := BatchOptions{PageOptions: PageOptions{Formats: []string{"text"}}}
	accepted, err := client.Batch(ctx, Of("http://a/"), &options)
	check(t, err)
	same(t, accepted.ID, "bat_1")
	same(t, len(server.asked), 3)
	same(t, server.asked[2].body, `{"formats":["text"]}`+"\n"+`{"url":"http://a/"}`+"\n")
}

func TestASourceOfPagesThatFailsIsTheCallersOwnError(t *testing.T) {
	_, client := follow(t)
	gone := errors.New("the disk is gone")
	_, err := client.Batch(ctx, From(func() (Page, error) { return Page{}, gone }), nil)
	same(t, err, gone)
}

func TestALongBatchIsMadeInSmallPieces(t *testing.T) {
	number := 0
	pages := From(func() (Page, error) {
		if number++; number > 50_000 {
			return Page{}, io.EOF
		}
		return Page{URL: fmt.Sprintf("http://shop.example/%d", number)}, nil
	})
	source, err := pages.open()
	check(t, err)
	l := &listening{timeout: time.Minute, timer: time.NewTimer(time.Minute)}
	body := &lineBody{source: source, listening: l}
	sum, most, piece := 0, 0, make([]byte, 32*1024)
	for err == nil {
		var size int
		size, err = body.Read(piece)
		sum += size
		if cap(body.waiting) > most {
			most = cap(body.waiting)
		}
	}
	same(t, err, io.EOF)
	same(t, sum > 1_500_000 && most < 4*enough, true)
}

func TestWhatCannotBeAskedForIsSaidBeforeAnybodyIsAsked(t *testing.T) {
	for _, wrong := range []string{"nonsense", "ftp://127.0.0.1/", "http://", "http://a:b@127.0.0.1/", "http://127.0.0.1:x/"} {
		_, err := New(wrong, "em_test")
		fails[*BadRequest](t, err)
	}
	server, client := follow(t)
	_, err := client.Status(ctx, "job_1")
	fails[*BadRequest](t, err)
	_, err = client.Results(ctx, "job_1", "").All()
	fails[*BadRequest](t, err)
	_, err = client.Batch(ctx, Pages{}, nil)
	fails[*BadRequest](t, err)
	same(t, len(server.asked), 0)
}

func TestNobodyThereIsASentence(t *testing.T) {
	client, err := New("http://127.0.0.1:1", "em_test")
	check(t, err)
	client.Patience.Attempts = 1
	_, err = client.Account(ctx)
	same(t, strings.Contains(fails[*ServerUnreachable](t, err).Detail, "127.0.0.1:1"), true)
}
