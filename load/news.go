package load

// news takes progress to whoever watches, without ever holding up the
// measurement: what a slow watcher has no time for is left out.
type news struct {
	queue chan Progress
	ended chan struct{}
}

// newsRoom is how far a watcher may be behind.
const newsRoom = 64

func newNews(watcher func(Progress)) *news {
	n := &news{queue: make(chan Progress, newsRoom), ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		for p := range n.queue {
			if watcher != nil {
				watcher(p)
			}
		}
	}()
	return n
}

func (n *news) send(p Progress) {
	select {
	case n.queue <- p:
	default:
	}
}

// end delivers what is left.
func (n *news) end() {
	close(n.queue)
	<-n.ended
}
