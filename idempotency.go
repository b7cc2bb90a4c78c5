package firstgood

import "context"

// IdempotencyKeyContext is the context key under which an attempt's idempotency key is found, a string.
type IdempotencyKeyContext struct{}

// IdempotencyKey returns the key of the attempt that ctx belongs to, and "" outside one. The key is the same for as
// long as the attempt lasts, whatever the delegate tries again in it, and no two attempts share one. A delegate hands it
// to the other side, which may then see a repeated request for what it is. It is opaque: nothing can be read from it,
// neither the pattern nor the delegate's place in one.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(IdempotencyKeyContext{}).(string)
	return key
}
