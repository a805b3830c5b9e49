package load

import "errors"

// ErrDone ends the work of one virtual user: there is nothing left to do.
var ErrDone = errors.New("work done")
