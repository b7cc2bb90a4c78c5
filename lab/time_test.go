package lab_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood/lab"
)

// bubble runs a test in virtual time, with a lab on a pipe. When a goroutine is left at its end, synctest fails.
func bubble(t *testing.T, config lab.Config, test func(*testing.T, *lab.Server, *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := lab.New(config)
		if err != nil {
			t.Fatal(err)
		}
		pipe := lab.NewPipe()
		if err := s.StartOn(pipe); err != nil {
			t.Fatal(err)
		}
		client := pipe.Client()
		test(t, s, client)
		s.Close()
		client.CloseIdleConnections()
	})
}

func TestDelaysAreExact(t *testing.T) {
	models := map[string]lab.Model{
		"paced": func(context.Context, lab.Request) lab.Reply {
			return lab.Reply{Text: "one two three", Delay: time.Second, Pace: time.Minute}
		},
	}
	bubble(t, lab.Config{Models: models}, func(t *testing.T, s *lab.Server, client *http.Client) {
		for _, test := range []struct {
			model         string
			whole, stream time.Duration
		}{
			{"ok", 0, 0},
			{"slow", 2 * time.Second, 2 * time.Second},
			{"slow::Red", 2 * time.Second, 2 * time.Second},
			{"slow:300ms", 300 * time.Millisecond, 300 * time.Millisecond},
			{"slow:48h", 48 * time.Hour, 48 * time.Hour},
			{"paced", time.Second, time.Second + 3*time.Minute},
		} {
			for stream, want := range map[bool]time.Duration{false: test.whole, true: test.stream} {
				begin := time.Now()
				ask(t, client, s, test.model, brief, stream)
				if took := time.Since(begin); took != want {
					t.Errorf("%s, stream %v, took %v, want %v", test.model, stream, took, want)
				}
			}
		}
		for _, v := range s.Visits() {
			if want := v.Ended.Sub(v.Started); v.Model == "slow" && want != 2*time.Second {
				t.Errorf("%v was recorded as %v", v, want)
			}
		}
	})
}

// TestGone_Exactly shows that the moment at which a client went away is recorded exactly, in both modes, and what
// the client had got until then.
func TestGone_Exactly(t *testing.T) {
	deaf := func(context.Context, lab.Request) lab.Reply { // does not heed its context
		<-time.After(time.Minute)
		return lab.Reply{Text: "too late"}
	}
	for model, want := range map[string]struct {
		status int
		text   string // that arrived
		ended  time.Duration
	}{
		"hang":    {0, "", 5 * time.Second},
		"slow:6s": {0, "", 5 * time.Second},
		"stall":   {200, half, 5 * time.Second},
		"stall:1": {200, "The ", 5 * time.Second},
		"deaf":    {0, "", time.Minute},
	} {
		for _, stream := range []bool{false, true} {
			bubble(t, lab.Config{Models: map[string]lab.Model{"deaf": deaf}}, func(t *testing.T, s *lab.Server, client *http.Client) {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				resp, err := post(ctx, client, s, request(model, brief, stream))
				if (err == nil) != (want.status != 0) {
					t.Fatalf("%s, stream %v: got %v", model, stream, err)
				}
				if err == nil {
					var data []byte
					data, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					text := string(data)
					if stream {
						text = streamed(text)
					}
					if resp.StatusCode != want.status || !strings.HasSuffix(text, want.text) {
						t.Errorf("%s, stream %v: got %d and %q, want %d and %q", model, stream, resp.StatusCode, text, want.status, want.text)
					}
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, stream %v: got %v", model, stream, err)
				}
				if err := s.WaitGone(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				v := s.Visits()[0]
				if gone, ended := v.Gone.Sub(begin), v.Ended.Sub(begin); v.End != lab.EndGone || v.Status != want.status || gone != 5*time.Second || ended != want.ended {
					t.Errorf("%s, stream %v: %v, gone after %v, ended after %v", model, stream, v, gone, ended)
				}
			})
		}
	}
}

// streamed joins the contents of a stream's frames.
func streamed(body string) string {
	var text strings.Builder
	for part := range strings.SplitSeq(body, `"content":"`) {
		before, _, found := strings.Cut(part, `"`)
		if found && !strings.HasPrefix(part, "data:") {
			text.WriteString(before)
		}
	}
	return text.String()
}

// TestGone_WhileReading has a client that leaves in the middle of a reply it reads slowly.
func TestGone_WhileReading(t *testing.T) {
	bubble(t, lab.Config{}, func(t *testing.T, s *lab.Server, client *http.Client) {
		for _, stream := range []bool{false, true} {
			ctx, leave := context.WithCancel(t.Context())
			resp, err := post(ctx, client, s, request("ok:"+strings.Repeat("word ", 10_000), brief, stream))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			leave()
			resp.Body.Close()
		}
		if err := s.WaitGone(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGone_BeforeTheEndOfTheBody has a client that leaves before it has said what it wants.
func TestGone_BeforeTheEndOfTheBody(t *testing.T) {
	bubble(t, lab.Config{}, func(t *testing.T, s *lab.Server, client *http.Client) {
		conn, err := client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: lab\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if err := s.WaitGone(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if v := s.Visits()[0]; v.Model != "" || v.Status != 0 || v.Body() != nil {
			t.Errorf("got %+v", v)
		}
	})
}

// TestClose_Prompt shows that Close takes no time, and leaves nothing running: synctest would fail.
func TestClose_Prompt(t *testing.T) {
	bubble(t, lab.Config{}, func(t *testing.T, s *lab.Server, client *http.Client) {
		var clients sync.WaitGroup
		for _, model := range []string{"hang", "stall", "slow:1h", "long-tail"} {
			for _, stream := range []bool{false, true} {
				clients.Go(func() {
					resp, err := post(t.Context(), client, s, request(model, brief, stream))
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					if err == nil {
						t.Errorf("%s, stream %v: the client saw a whole reply", model, stream)
					}
				})
			}
		}
		synctest.Wait()
		begin := time.Now()
		s.Close()
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
		clients.Wait()
		for _, v := range s.Visits() {
			if v.End != lab.EndClosed {
				t.Errorf("got %+v, want it closed", v)
			}
		}
	})
}

// TestClose_AsHandler closes a lab inside somebody else's server: visits end at once, but Close waits for a model
// that does not heed its context.
func TestClose_AsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := func(context.Context, lab.Request) lab.Reply {
			<-time.After(time.Minute)
			return lab.Reply{}
		}
		s, err := lab.New(lab.Config{Models: map[string]lab.Model{"deaf": deaf}})
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{"hang", "deaf"} {
			go func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler {
						t.Errorf("%s: recovered %v", model, p)
					}
				}()
				r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(request(model, brief, false)))
				s.ServeHTTP(httptest.NewRecorder(), r)
			}()
		}
		synctest.Wait()
		begin := time.Now()
		s.Close()
		for _, v := range s.Visits() {
			want := map[string]time.Duration{"hang": 0, "deaf": time.Minute}[v.Model]
			if took := v.Ended.Sub(begin); v.End != lab.EndClosed || took != want {
				t.Errorf("%v: ended %v after Close, want %v", v, took, want)
			}
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("Close took %v, want a minute", took)
		}
	})
}

func TestWait(t *testing.T) {
	bubble(t, lab.Config{}, func(t *testing.T, s *lab.Server, client *http.Client) {
		own := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, own)
		defer cancel()
		if err := s.WaitGone(ctx, 1); err != own {
			t.Errorf("got %v, want the context's cause", err)
		}
		begin := time.Now()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			resp, err := post(t.Context(), client, s, request("slow:3s:Red", brief, false))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}()
		if err := s.Wait(t.Context(), func(visits []lab.Visit) bool { return len(visits) == 1 && visits[0].End == lab.EndDone }); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("waited %v, want until the end of the reply, 3s", took)
		}
		<-answered
		s.Close()
		if err := s.WaitStarted(t.Context(), 1); err != nil {
			t.Errorf("what has come about still holds after the end: %v", err)
		}
	})
}

// TestLongTail asks 300 times: two of each hundred take 2 s, the others 100 ms in the middle, and the seed alone
// decides which.
func TestLongTail(t *testing.T) {
	delays := func(seed uint64) (all []time.Duration) {
		bubble(t, lab.Config{Seed: seed}, func(t *testing.T, s *lab.Server, client *http.Client) {
			for range 300 {
				begin := time.Now()
				if got := ask(t, client, s, "long-tail:Red", brief, false); got.Text != "Red" {
					t.Fatalf("got %+v", got)
				}
				all = append(all, time.Since(begin))
			}
		})
		return all
	}
	first := delays(1)
	if !slices.Equal(first, delays(1)) {
		t.Error("the same seed gave other delays")
	}
	if slices.Equal(first, delays(2)) {
		t.Error("another seed gave the same delays")
	}
	for hundred := range slices.Chunk(first, 100) {
		slices.Sort(hundred)
		if hundred[0] != 50*time.Millisecond || hundred[49] > 105*time.Millisecond || hundred[49] < 95*time.Millisecond ||
			hundred[97] != 150*time.Millisecond || hundred[98] != 2*time.Second || hundred[99] != 2*time.Second {
			t.Errorf("got %v", hundred)
		}
	}
}

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := lab.NewPipe()
		own := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, own)
		defer cancel()
		if _, err := pipe.DialContext(ctx, "tcp", "lab.invalid:80"); err != own {
			t.Errorf("a dial that nobody accepts gave %v", err)
		}
		ended := make(chan error)
		go func() {
			_, err := pipe.Accept()
			ended <- err
		}()
		pipe.Close()
		pipe.Close()
		if err := <-ended; err == nil {
			t.Error("accepted after the end")
		}
		if _, err := pipe.DialContext(t.Context(), "tcp", "lab.invalid:80"); err == nil {
			t.Error("dialled after the end")
		}
	})
}
