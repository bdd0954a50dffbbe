package emissary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const enough = 64 * 1024

// listening is one exchange with the server, given up when it is silent for too long. Time runs only while the server
// is waited for: a slow source of pages, or a slow reader, is not its fault.
type listening struct {
	caller   context.Context
	cancel   context.CancelFunc
	timeout  time.Duration
	timer    *time.Timer
	isSilent atomic.Bool
	answer   io.ReadCloser
}

func (l *listening) start() { l.timer.Reset(l.timeout) }
func (l *listening) stop()  { l.timer.Stop() }

// listen sends the request, and gives its answer's body; a problem is an error.
func listen(ctx context.Context, client *http.Client, request *http.Request, timeout time.Duration) (io.ReadCloser, error) {
	within, cancel := context.WithCancel(ctx)
	l := &listening{caller: ctx, cancel: cancel, timeout: timeout}
	l.timer = time.AfterFunc(timeout, func() {
		l.isSilent.Store(true)
		cancel()
	})
	body, isLines := request.Body.(*lineBody)
	if isLines {
		body.listening = l
	}
	answer, err := client.Do(request.WithContext(within))
	if isLines {
		// Once the server has answered it wants no more of them.
		if fault := body.leave(); fault != nil && err != nil {
			err = fault
		}
	}
	if err != nil {
		l.end()
		return nil, l.told(err)
	}
	l.answer = answer.Body
	if answer.StatusCode >= 300 {
		defer l.Close()
		told, err := io.ReadAll(l)
		if err != nil {
			return nil, err
		}
		return nil, readProblem(answer.StatusCode, answer.Header, told)
	}
	return l, nil
}

// Read gives some more of the answer.
func (l *listening) Read(piece []byte) (int, error) {
	l.start()
	size, err := l.answer.Read(piece)
	l.stop()
	if err != nil && err != io.EOF {
		err = l.told(err)
	}
	return size, err
}

// Close hangs up, unless the answer came whole.
func (l *listening) Close() error {
	l.end()
	return l.answer.Close()
}

func (l *listening) end() {
	l.stop()
	l.cancel()
}

// told says whose fault it was.
func (l *listening) told(err error) error {
	if l.caller.Err() != nil {
		return l.caller.Err()
	}
	var fault *sourceFault
	if errors.As(err, &fault) {
		return fault.error
	}
	if l.isSilent.Load() {
		return &ServerUnreachable{Detail: fmt.Sprintf("nothing came from the server for %s", l.timeout), Cause: err}
	}
	var around *url.Error
	if errors.As(err, &around) {
		err = around.Err
	}
	return &ServerUnreachable{Detail: fmt.Sprintf("the server cannot be heard: %s", err), Cause: err}
}

// sourceFault is an error of the caller's own source of pages.
type sourceFault struct{ error }

// lineBody is the options, and behind them the pages, as a body that is made while it is sent.
type lineBody struct {
	source    *source
	waiting   []byte
	listening *listening
	isLeft    atomic.Bool
	mutex     sync.Mutex
	ended     error
}

// Read fills a piece of some thousand lines at a time.
func (b *lineBody) Read(piece []byte) (int, error) {
	if len(b.waiting) == 0 {
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	size := copy(piece, b.waiting)
	b.waiting = b.waiting[size:]
	return size, nil
}

// Close gives back the file, if there is one.
func (b *lineBody) Close() error {
	if b.source.close == nil {
		return nil
	}
	return b.source.close()
}

func (b *lineBody) fill() error {
	if b.isLeft.Load() {
		return io.ErrClosedPipe
	}
	b.listening.stop()
	var err error
	for err == nil && len(b.waiting) < enough {
		var line []byte
		if line, err = b.source.next(); err == nil {
			b.waiting = append(append(b.waiting, line...), '\n')
		}
	}
	if !b.isLeft.Load() {
		b.listening.start()
	}
	if err != nil && err != io.EOF {
		return b.fail(err)
	}
	if len(b.waiting) == 0 {
		return io.EOF
	}
	return nil
}

func (b *lineBody) fail(err error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = &sourceFault{err}
	return b.ended
}

// leave tells what went wrong with the source, and that no more is wanted of it.
func (b *lineBody) leave() error {
	b.isLeft.Store(true)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.ended
}
