package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/firstgood/firstgood"
)

// secrets are values that must not be seen, the longest first, so that one that is part of another leaves nothing of it.
type secrets []string

// shortestSecret keeps a value such as the 1 of MAX_TOKENS=1 from blotting out half a text.
const shortestSecret = 4

// secretsOf returns the values in an environment whose names say that they are secret, and those that were read of it,
// which may be.
func secretsOf(environ, read []string) secrets {
	var found secrets
	for _, value := range read {
		if value = strings.TrimSpace(value); len(value) >= shortestSecret {
			found = append(found, value)
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value = strings.TrimSpace(value); len(value) >= shortestSecret && soundsSecret(name) {
			found = append(found, value)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return found
}

// hide blots the secrets out of a text. One that was cut at its start may begin inside a secret, and loses as much as
// that could be.
func (s secrets) hide(text string, cut bool) string {
	if cut && len(s) > 0 {
		text = text[min(len(text), len(s[0])-1):]
	}
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// soundsSecret reports whether a variable's name says that its value is secret.
func soundsSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(name, word) })
}

// public returns the variables of an environment whose names do not say that they are secret.
func public(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return soundsSecret(name)
	})
}

// withoutGit leaves out the variables that tell git of another repository than that of its folder, as hooks have them.
func withoutGit(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "GIT_") })
}

// discreet is criteria that do not see the keys which a server may have repeated in its reply, and so show them to no
// judge and give them as no reason. The reply itself stays as it is.
func discreet(weigh firstgood.Criteria[firstgood.Reply], hidden *atomic.Pointer[secrets]) firstgood.Criteria[firstgood.Reply] {
	if weigh == nil {
		return nil
	}
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
		if s := hidden.Load(); s != nil && len(*s) > 0 {
			reply.Text, reply.Refusal = s.hide(reply.Text, false), s.hide(reply.Refusal, false)
			if reply.JSON != nil {
				reply.JSON = json.RawMessage(s.hide(string(reply.JSON), false))
			}
		}
		return weigh(ctx, brief, reply)
	}
}

// blot hides keys in the replies that a history holds, at any depth.
func blot(history []firstgood.Failure, s secrets) {
	for i := range history {
		history[i].Reply = s.hide(history[i].Reply, false)
		blot(history[i].Nested, s)
	}
}
