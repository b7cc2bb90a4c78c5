package firstgood

import (
	"context"
	"testing"
)

func TestIdempotencyKey(t *testing.T) {
	if key := IdempotencyKey(t.Context()); key != "" {
		t.Errorf("got %q outside an attempt", key)
	}
	ctx := context.WithValue(t.Context(), IdempotencyKeyContext{}, "k-1")
	if key := IdempotencyKey(ctx); key != "k-1" {
		t.Errorf("got %q, want k-1", key)
	}
}
