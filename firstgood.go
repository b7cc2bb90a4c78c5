// Package firstgood gives a task to several delegates and brings back the first good answer.
//
// This package holds the words: [Brief], [Delegate], [Reply], [Criteria], [Verdict], [Failure], [Outcome] and
// [Record]. The patterns that put them to work (fallback-chain, race, fan-out, retry-with-learning) are in
// github.com/firstgood/firstgood/pattern. Both packages import the standard library alone.
//
// Only the reply is generic: a caller with functions of its own closes over its request, returns whatever type
// it likes, and needs neither a file nor the engine.
package firstgood
