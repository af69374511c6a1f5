package file

import "errors"

// ErrTaken is the error of a lock that somebody else holds.
var ErrTaken = errors.New("somebody else holds the lock")

// A LockMode says how a file is locked. Locks are advisory, die with the process,
// and belong to the open file: who opens it twice locks it twice.
type LockMode struct {
	Shared bool // with others that do so too
	Try    bool // do not wait: the error is ErrTaken
}
