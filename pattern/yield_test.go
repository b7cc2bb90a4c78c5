package pattern

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/firstgood/firstgood"
)

// BenchmarkYield reports how many of a hundred races of three that answer at once the first of the list wins, by how
// often the loop yields before it looks.
func BenchmarkYield(b *testing.B) {
	quick := firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) { return "4", nil })
	for yields := range 4 {
		b.Run(fmt.Sprint("yields=", yields), func(b *testing.B) {
			in, err := NewRace(config{Delegates: delegates{quick, quick, quick}})
			if err != nil {
				b.Fatal(err)
			}
			in.ready = func() {
				for range yields {
					runtime.Gosched()
				}
			}
			first := 0
			for b.Loop() {
				out, err := in.Run(context.Background(), question)
				if err != nil {
					b.Fatal(err)
				}
				if out.WinnerIndex == 0 {
					first++
				}
			}
			b.ReportMetric(100*float64(first)/float64(b.N), "%first")
		})
	}
}
