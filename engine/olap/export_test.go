package olap

import "bakeoff/engine/olap/population"

// Keep makes the text that an engine's sessions share, and returns what keeps
// it from going, so that tests need not wait for it again and again.
func Keep(e Engine) (any, error) {
	p, err := population.New(1, e.text)
	if err != nil {
		return nil, err
	}
	return p.Stream(population.Region, 1, 1), nil
}
