package emissary

import "io"

// Iterator gives one value after another, each asked for when the one before has been used:
//
//	for results.Next() {
//		use(results.Value())
//	}
//	if err := results.Err(); err != nil { … }
//
// Whoever leaves before the end calls Close.
type Iterator[T any] struct {
	next   func() (T, error) // io.EOF at the end
	stop   func()
	value  T
	err    error
	isOver bool
}

// Next goes on to the next value; false at the end, or where it went wrong.
func (i *Iterator[T]) Next() bool {
	if i.isOver {
		return false
	}
	i.value, i.err = i.next()
	if i.err == nil {
		return true
	}
	if i.err == io.EOF {
		i.err = nil
	}
	i.Close()
	return false
}

// Value is what Next has found.
func (i *Iterator[T]) Value() T { return i.value }

// Err is what went wrong, if it did not come to its end.
func (i *Iterator[T]) Err() error { return i.err }

// Close gives back the connection, at any time.
func (i *Iterator[T]) Close() {
	if !i.isOver && i.stop != nil {
		i.stop()
	}
	i.isOver = true
}

// All gives everything that is left.
func (i *Iterator[T]) All() ([]T, error) {
	var all []T
	for i.Next() {
		all = append(all, i.Value())
	}
	return all, i.Err()
}

func failed[T any](err error) *Iterator[T] {
	return &Iterator[T]{next: func() (none T, _ error) { return none, err }}
}
