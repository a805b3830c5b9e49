package load

import "testing"

func TestASlowWatcherHoldsNothingUp(t *testing.T) {
	release, seen := make(chan struct{}), 0
	n := newNews(func(Progress) { <-release; seen++ })
	for range 10 * newsRoom {
		n.send(Progress{})
	}
	close(release)
	n.end()
	if seen < newsRoom || seen > newsRoom+1 {
		t.Errorf("the watcher saw %d pieces of news, want as many as there is room for: %d", seen, newsRoom)
	}
	newNews(nil).end()
}
