package lab_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/lab"
)

// BenchmarkOK is a whole visit over TCP, its client included, from as many clients as there are processors.
func BenchmarkOK(b *testing.B) {
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		b.Run(name, func(b *testing.B) {
			s := start(b, lab.Config{})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
			defer client.CloseIdleConnections()
			body := request("ok:Red is a colour.", brief, stream)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := post(b.Context(), client, s, body)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, resp.Body); err != nil {
						b.Error(err)
					}
					resp.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkServeHTTP is the lab's own part of it.
func BenchmarkServeHTTP(b *testing.B) {
	s, err := lab.New(lab.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := request("ok:Red is a colour.", brief, false)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
}
