package lab

import (
	"slices"
	"strings"
	"unicode"
)

// judge weighs the reply in a judge's brief and answers with the JSON object that the brief asks for.
func judge(brief string) string {
	reply, rest := underJudgement(brief)
	bad, reason := true, "the reply is empty"
	if strings.TrimSpace(reply) != "" {
		if said := declines(reply); said != "" {
			reason = "the reply says “" + said + "”"
		} else {
			bad, reason = false, "the reply neither apologises nor declines"
		}
	}
	if asksForAcceptable(rest) {
		return string(encode(struct {
			Acceptable bool   `json:"acceptable"`
			Reason     string `json:"reason"`
		}{!bad, reason}))
	}
	return string(encode(struct {
		IsFailure bool   `json:"is_failure"`
		Reason    string `json:"reason"`
	}{bad, reason}))
}

// underJudgement finds the reply in a judge's brief, between the lines "<<<reply NONCE" and "reply NONCE>>>", and
// returns it and what stands around it. What stands between such lines for another word, as the delegate's own
// brief may, is passed over, markers and all. Without a reply both are the whole brief.
func underJudgement(brief string) (reply, rest string) {
	closings := make(map[string][]int) // where lines start that could close something, by line, ascending
	at := 0
	for line := range strings.Lines(brief) {
		if closing := strings.TrimRight(line, "\r\n"); strings.HasSuffix(closing, ">>>") {
			closings[closing] = append(closings[closing], at)
		}
		at += len(line)
	}
	at = 0
	passed := 0 // what starts before is between markers of another word
	for line := range strings.Lines(brief) {
		begin, inside := at, at+len(line)
		at = inside
		mark, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "<<<")
		if !ok || begin < passed {
			continue
		}
		ends := closings[mark+">>>"]
		i, _ := slices.BinarySearch(ends, inside)
		switch {
		case i == len(ends):
		case strings.HasPrefix(mark, "reply "):
			return brief[inside:ends[i]], brief[:begin] + brief[ends[i]:]
		default:
			passed = ends[i]
		}
	}
	return brief, brief
}

// asksForAcceptable tells which key a judge's brief asks for. Both words may occur in its criteria; what it asks
// for is quoted and comes last.
func asksForAcceptable(rest string) bool {
	failure, acceptable := strings.LastIndex(rest, `"is_failure"`), strings.LastIndex(rest, `"acceptable"`)
	if failure < 0 && acceptable < 0 {
		return !strings.Contains(rest, "is_failure") && strings.Contains(rest, "acceptable")
	}
	return acceptable > failure
}

// declines returns the words by which a text apologises or says that it will not help, or "".
func declines(text string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	plain := " " + strings.Join(words, " ") + " "
	for _, phrase := range []string{
		"sorry", "apologies", "apologise", "apologize", "cannot", "can't", "can not", "could not", "couldn't",
		"unable", "not able", "won't", "will not", "must decline", "refuse", "not allowed", "no idea", "don't know",
	} {
		if strings.Contains(plain, " "+phrase+" ") {
			return phrase
		}
	}
	return ""
}
