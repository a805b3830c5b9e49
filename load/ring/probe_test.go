package ring

import (
	"sync"
	"testing"
)

// TestAvailableAnswersAlike asks often and from many goroutines: the answer must
// not depend on the thread that a goroutine happens to be on.
func TestAvailableAnswersAlike(t *testing.T) {
	first := Available()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := Available(); (err == nil) != (first == nil) {
					t.Errorf("now %v, at first %v", err, first)
				}
			}
		})
	}
	all.Wait()
}
