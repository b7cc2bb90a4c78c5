package failure

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads how long the other side asks to be left alone: retry-after-ms, or retry-after in seconds or as an
// HTTP date, which is taken against the header's own date where there is one. It returns 0 when there is nothing to read.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(seconds, time.Second)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

var window = regexp.MustCompile(`(?i)\b(?:try again|retry) (?:in|after) (?:((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)\b|(\d+(?:\.\d+)?) (second|minute|hour)s?\b)`)

// inWords reads the same out of a message such as "Please try again in 1m2.5s" or "Please retry after 20 seconds", for
// the frames of a stream, which have no header, and those who send none.
func inWords(message string) time.Duration {
	found := window.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	if found[1] != "" {
		wait, _ := time.ParseDuration(strings.ToLower(found[1]))
		return wait
	}
	n, _ := strconv.ParseFloat(found[2], 64)
	unit := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}
	return duration(n, unit[strings.ToLower(found[3])])
}

// duration returns n units, 0 for less than none, and the longest duration for what has no room.
func duration(n float64, unit time.Duration) time.Duration {
	switch ns := n * float64(unit); {
	case !(ns > 0): // NaN too
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	default:
		return time.Duration(ns)
	}
}
