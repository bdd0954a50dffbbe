package emissary

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
)

// Page is a page of a batch, with whatever you want to find again beside it.
type Page struct {
	URL      string         `json:"url"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Pages are the pages of a batch: made by Of, From, Lines or File, and sent as they come.
type Pages struct {
	open         func() (*source, error)
	isRepeatable bool // those of a list or a file are still there once they were sent
}

// source gives lines one by one, io.EOF at the end.
type source struct {
	next  func() ([]byte, error)
	close func() error
}

// Of gives pages that are at hand.
func Of[T string | Page](pages ...T) Pages {
	open := func() (*source, error) {
		at := 0
		return &source{next: func() ([]byte, error) {
			if at == len(pages) {
				return nil, io.EOF
			}
			at++
			return lineOf(pages[at-1])
		}}, nil
	}
	return Pages{open, true}
}

// From gives pages as the function finds them; it ends them with io.EOF.
func From(next func() (Page, error)) Pages {
	open := func() (*source, error) {
		return &source{next: func() ([]byte, error) {
			page, err := next()
			if err != nil {
				return nil, err
			}
			return lineOf(page)
		}}, nil
	}
	return Pages{open, false}
}

// Lines gives the lines of a reader: a URL each, or an object with url and metadata.
func Lines(reader io.Reader) Pages {
	return Pages{func() (*source, error) { return linesOf(reader, nil), nil }, false}
}

// File gives the lines of a file.
func File(path string) Pages {
	open := func() (*source, error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return linesOf(file, file.Close), nil
	}
	return Pages{open, true}
}

func linesOf(reader io.Reader, closeIt func() error) *source {
	buffered := bufio.NewReader(reader)
	next := func() ([]byte, error) {
		line, err := buffered.ReadBytes('\n')
		if err == io.EOF && len(line) > 0 {
			return line, nil // the last one may lack its end
		}
		if err != nil {
			return nil, err
		}
		return line[:len(line)-1], nil
	}
	return &source{next, closeIt}
}

func lineOf(page any) ([]byte, error) {
	if url, isURL := page.(string); isURL {
		page = Page{URL: url}
	}
	return json.Marshal(page)
}
