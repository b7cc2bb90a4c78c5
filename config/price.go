package config

import "strconv"

// Price is what a delegate's tokens cost, in US dollars per million.
type Price struct{ Input, Output float64 }

// leastPrice is below what anybody asks for a million tokens, and above what they ask for one.
const leastPrice = 0.0005

// price returns the price under key, nil where it is absent.
func (m *Map) price(key, doc string) *Price {
	var p *Price
	m.Mapping(key, doc, func(m *Map) {
		m.lenient = true
		m.hint = func(key string) string {
			switch key {
			case "in", "prompt":
				return "write input"
			case "out", "completion":
				return "write output"
			}
			return ""
		}
		p = &Price{
			Input:  m.dollars("input", "US dollars for a million tokens that the delegate reads", true, Required),
			Output: m.dollars("output", "US dollars for a million tokens that the delegate writes", true, Required),
		}
		for key, dollars := range map[string]float64{"input": p.Input, "output": p.Output} {
			if 0 < dollars && dollars < leastPrice {
				m.Warnf(key, "%s US dollars for a million tokens is very little; is it the price of one token?", strconv.FormatFloat(dollars, 'f', -1, 64))
			}
		}
	})
	if m.node == nil {
		return nil
	}
	return p
}
