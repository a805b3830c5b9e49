package population

import (
	"runtime"
	"sync"
	"weak"
)

// textSize is the length of the pseudo text (clause 4.2.2.10) that comments
// are cut out of.
const textSize = 300 << 20

// maxSentence bounds a sentence.
const maxSentence = 512

// grammar holds the words and phrases of the pseudo text. A form is a list of
// parts, a letter each: N noun, V verb, J adjective, D adverb, X auxiliary, and "," for itself.
type grammar struct {
	nouns, verbs, adjectives, adverbs, auxiliaries, prepositions, terminators words
	sentences, nounPhrases, verbPhrases                                       words
}

func newGrammar() *grammar {
	return &grammar{
		nouns: nouns(), verbs: verbs(), adjectives: adjectives(), adverbs: adverbs(),
		auxiliaries: auxiliaries(), prepositions: prepositions(), terminators: terminators(),
		sentences: parseWords("3 NVT NVPT NVNT 1 NPVNT NPVPT"), nounPhrases: parseWords("10 N 20 JN 10 J,JN 50 DJN"), verbPhrases: parseWords("30 V 1 XV 40 VD 1 XVD"),
	}
}

// writer appends to a text from a sequence.
type writer struct {
	*grammar
	text []byte // written up to at
	at   int
	seq  sequence
}

func (w *writer) put(s string) { w.at += copy(w.text[w.at:], s) }

// phrase writes a phrase and a space.
func (w *writer) phrase(form string) {
	for i := range len(form) {
		switch form[i] {
		case 'N':
			w.put(w.nouns.pick(&w.seq))
		case 'V':
			w.put(w.verbs.pick(&w.seq))
		case 'J':
			w.put(w.adjectives.pick(&w.seq))
		case 'D':
			w.put(w.adverbs.pick(&w.seq))
		case 'X':
			w.put(w.auxiliaries.pick(&w.seq))
		}
		if i+1 < len(form) && form[i+1] == ',' {
			continue
		}
		if form[i] == ',' {
			w.put(",")
		}
		w.put(" ")
	}
}

// sentence writes a sentence and a space.
func (w *writer) sentence() {
	form := w.sentences.pick(&w.seq)
	for i := range len(form) {
		switch form[i] {
		case 'N':
			w.phrase(w.nounPhrases.pick(&w.seq))
		case 'V':
			w.phrase(w.verbPhrases.pick(&w.seq))
		case 'P':
			w.put(w.prepositions.pick(&w.seq))
			w.put(" the ")
			w.phrase(w.nounPhrases.pick(&w.seq))
		case 'T':
			w.at-- // the terminator abuts the last word
			w.put(w.terminators.pick(&w.seq))
		}
	}
	w.put(" ")
}

// A checkpoint is a sentence's place and the sequence's state before it.
type checkpoint struct {
	at    int
	state uint64
}

// Text is the pseudo text. It is made when it is first needed, and is gone when
// nothing needs it any more. Its zero value is ready; it is safe for concurrent use.
type Text struct {
	mu   sync.Mutex
	made weak.Pointer[[textSize]byte]
}

func (t *Text) get() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if made := t.made.Value(); made != nil {
		return made[:]
	}
	text := makeText()
	t.made = weak.Make((*[textSize]byte)(text))
	return text
}

// makeText writes the whole text, the stretches between checkpoints at once.
func makeText() []byte {
	text := make([]byte, textSize+maxSentence)
	g := newGrammar()
	stretches := make(chan int)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range stretches {
				end := textSize
				if i+1 < len(checkpoints) {
					end = checkpoints[i+1].at
				}
				w := writer{grammar: g, text: text, at: checkpoints[i].at, seq: sequence{state: checkpoints[i].state}}
				for w.at < end {
					w.sentence()
				}
			}
		})
	}
	for i := range checkpoints {
		stretches <- i
	}
	close(stretches)
	all.Wait()
	return text[:textSize]
}

// comment draws the text of a column whose average length is given: from 0.4
// to 1.6 times that.
func (q *sequence) comment(text []byte, average int64) []byte {
	low, high := average*4/10, average*16/10
	from := q.draw(0, textSize-high)
	return text[from : from+q.draw(low, high)]
}
