package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Brood is all that this process starts from GatherBrood to End, as the command
// of a workload: what of it is left then is ended, the daemons included that
// left group and session. Should this process be killed, EndOrphan ends it.
type Brood struct {
	kept pidFile
	path string
	own  *unix.Rlimit // this process's limit before; nil where it lends none
}

// broodGrace is how long what is left may take to end when asked.
const broodGrace = 500 * time.Millisecond

// GatherBrood begins a brood, whose identity is kept in the file until it ends;
// "" keeps none.
func GatherBrood(path string) (*Brood, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	b := &Brood{kept: pidFile{Service: "load", Boot: boot, mark: newMark()}, path: path}
	if path != "" {
		if err := b.kept.write(path); err != nil {
			return nil, err
		}
	}
	b.own = b.kept.lendFromNow()
	return b, nil
}

// End ends what is left of the brood, and returns its PIDs.
func (b *Brood) End(ctx context.Context) ([]int, error) {
	takeBack(b.own)
	b.own = nil
	ended, err := b.kept.end(ctx, broodGrace)
	if err != nil || b.path == "" {
		return ended, err
	}
	if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ended, fmt.Errorf("forgetting what the load started: %w", err)
	}
	return ended, nil
}
