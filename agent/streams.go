package agent

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood"
)

// readClaude reads an event of Claude Code's stream-json, which Qwen Code speaks too. The last event is a result, with the
// usage and cost of everything. Until then, each message tells its own usage, and may come in several events.
func readClaude(p *Parser, line []byte) {
	type usage struct {
		Input   int `json:"input_tokens"`
		Written int `json:"cache_creation_input_tokens"`
		Read    int `json:"cache_read_input_tokens"`
		Output  int `json:"output_tokens"`
	}
	var e struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Message struct {
			ID      string `json:"id"`
			Content []struct {
				Type  string          `json:"type"`
				Text  string          `json:"text"`
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input"`
			} `json:"content"`
			Usage usage `json:"usage"`
		} `json:"message"`
		IsError    bool            `json:"is_error"`
		Result     string          `json:"result"`
		Usage      *usage          `json:"usage"`
		Cost       *float64        `json:"total_cost_usd"`
		Turns      *int            `json:"num_turns"`
		StopReason string          `json:"stop_reason"`
		Errors     []string        `json:"errors"`
		Error      json.RawMessage `json:"error"`
		Status     int             `json:"error_status"`
		APIStatus  int             `json:"api_error_status"`
		Attempt    int             `json:"attempt"`
	}
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "system":
		switch e.Subtype {
		case "init":
			p.say("started")
		case "api_retry":
			text := "waits to ask its provider again (attempt " + strconv.Itoa(e.Attempt)
			if e.Status != 0 {
				text += ", status " + strconv.Itoa(e.Status)
			}
			p.say(text + ")")
		}
	case "assistant":
		for _, c := range e.Message.Content {
			switch c.Type {
			case "text":
				p.say(c.Text)
			case "tool_use":
				p.sayTool(c.Name, c.Input)
			}
		}
		if u := e.Message.Usage; p.counted != e.Message.ID || p.counted == "" {
			p.counted = e.Message.ID
			before := p.result.Usage
			p.uses(before.InputTokens+u.Input+u.Written+u.Read, before.OutputTokens+u.Output)
			p.result.Usage.Source = firstgood.SourceUnknown // a lower bound
		}
	case "result":
		p.done = true
		p.result.Text = e.Result
		if u := e.Usage; u != nil {
			p.uses(u.Input+u.Written+u.Read, u.Output)
		}
		p.costs(e.Cost)
		message := e.Result
		if message == "" {
			message = strings.Join(e.Errors, "; ")
		}
		if message == "" {
			message = said(e.Error)
		}
		switch {
		case e.IsError || strings.HasPrefix(e.Subtype, "error"):
			if message == "" {
				message = p.kind.Name + " ended with " + e.Subtype
			}
			p.result.Error = p.failure(message)
			if p.result.Error.Status == 0 && e.APIStatus != 0 {
				p.result.Error.Kind, p.result.Error.Status = classify("status " + strconv.Itoa(e.APIStatus) + " " + message)
			}
		case e.StopReason == "refusal":
			p.result.Error = p.failure(message)
			p.result.Error.Kind = firstgood.KindRefused
		case p.kind.Name == "qwen" && strings.HasPrefix(e.Result, "[API Error: "):
			p.result.Error = p.failure(e.Result) // it calls that a success
		case e.Turns != nil && *e.Turns == 0:
			p.result.Error = p.failure(e.Result)
			p.result.Error.Kind = firstgood.KindBadRequest
			p.result.Error.Reason = p.kind.Name + " asked no model, but took the brief for one of its commands: " + p.result.Error.Reason
		default:
			p.result.Error = nil
		}
	}
}

// said returns the text of an error that is a text itself, or an object that holds one.
func said(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Data    struct {
			Message    string `json:"message"`
			StatusCode int    `json:"statusCode"`
		} `json:"data"`
	}
	_ = json.Unmarshal(raw, &object)
	switch {
	case object.Data.Message != "" && object.Data.StatusCode != 0:
		return object.Data.Message + " (status " + strconv.Itoa(object.Data.StatusCode) + ")"
	case object.Data.Message != "":
		return object.Data.Message
	case object.Message != "":
		return object.Message
	}
	return object.Name
}

// readCodex reads an event of codex exec --json. The answer is its last message to the user. An error event alone is no
// end: Codex says so too when it connects again.
func readCodex(p *Parser, line []byte) {
	var e struct {
		Type string `json:"type"`
		Item struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Message string `json:"message"`
			Command string `json:"command"`
			Tool    string `json:"tool"`
			Query   string `json:"query"`
			Changes []struct {
				Path string `json:"path"`
			} `json:"changes"`
		} `json:"item"`
		Usage *struct {
			Input  int `json:"input_tokens"` // with the cached ones
			Output int `json:"output_tokens"`
		} `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "turn.started":
		p.say("started")
	case "item.started", "item.updated", "item.completed":
		switch item := e.Item; item.Type {
		case "agent_message":
			if e.Type == "item.completed" {
				p.result.Text = item.Text
			}
			p.say(item.Text)
		case "command_execution":
			p.say("runs " + firstLine(item.Command))
		case "file_change":
			if len(item.Changes) > 0 {
				p.say("changes " + item.Changes[len(item.Changes)-1].Path)
			}
		case "mcp_tool_call":
			p.say("uses " + item.Tool)
		case "web_search":
			p.say("searches " + item.Query)
		case "reasoning":
			p.say(item.Text)
		case "error":
			p.say(item.Message)
		}
	case "turn.completed":
		p.done, p.result.Error = true, nil
		if u := e.Usage; u != nil {
			p.uses(u.Input, u.Output)
		}
	case "turn.failed":
		p.done = true
		p.result.Error = p.failure(said(e.Error))
	case "error":
		p.trouble = e.Message
		p.say(e.Message)
	}
}

// readGemini reads an event of Gemini CLI's stream-json. The last event is a result, which has no text: the answer is in
// messages before it, in pieces.
func readGemini(p *Parser, line []byte) {
	var e struct {
		Type     string          `json:"type"`
		Role     string          `json:"role"`
		Content  string          `json:"content"`
		Tool     string          `json:"tool_name"`
		Input    json.RawMessage `json:"parameters"`
		Severity string          `json:"severity"`
		Message  string          `json:"message"`
		Status   string          `json:"status"`
		Error    json.RawMessage `json:"error"`
		Stats    *struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"stats"`
	}
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "init":
		p.say("started")
	case "message":
		if e.Role == "assistant" {
			p.spoke(e.Content)
		}
	case "tool_use":
		p.stale = true
		p.sayTool(e.Tool, e.Input)
	case "error":
		p.say(e.Message)
		if e.Severity == "error" {
			p.trouble = e.Message
		}
	case "result":
		p.done, p.result.Error = true, nil
		p.result.Text = p.text.String()
		if u := e.Stats; u != nil {
			p.uses(u.Input, u.Output)
		}
		if e.Status != "success" {
			message := said(e.Error)
			if message == "" {
				message = p.trouble
			}
			p.result.Error = p.failure(message)
		}
	}
}

// readOpenCode reads an event of opencode run --format json. A model's turn is a step, and the session is at its end when a
// step finished that wants no tool; nothing else says so. Each step tells what it has cost.
func readOpenCode(p *Parser, line []byte) {
	var e struct {
		Type string `json:"type"`
		Part struct {
			Text  string `json:"text"`
			Tool  string `json:"tool"`
			State struct {
				Input json.RawMessage `json:"input"`
			} `json:"state"`
			Reason string   `json:"reason"`
			Cost   *float64 `json:"cost"`
			Tokens *struct {
				Input     int `json:"input"`
				Output    int `json:"output"`
				Reasoning int `json:"reasoning"`
				Cache     struct {
					Read  int `json:"read"`
					Write int `json:"write"`
				} `json:"cache"`
			} `json:"tokens"`
		} `json:"part"`
		Error json.RawMessage `json:"error"`
	}
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "step_start":
		p.done = false
		if p.line == "" {
			p.say("started")
		}
	case "text":
		p.spoke(e.Part.Text)
	case "tool_use":
		p.stale = true
		p.sayTool(e.Part.Tool, e.Part.State.Input)
	case "step_finish":
		p.done = e.Part.Reason != "tool-calls"
		if p.done {
			p.trouble = ""
		}
		if t := e.Part.Tokens; t != nil {
			before := p.result.Usage
			p.uses(before.InputTokens+t.Input+t.Cache.Read+t.Cache.Write, before.OutputTokens+t.Output+t.Reasoning)
		}
		if cost := e.Part.Cost; cost != nil && *cost >= 0 {
			sum := *cost
			if p.result.Cost != nil {
				sum += *p.result.Cost
			}
			p.result.Cost = &sum
		}
		if e.Part.Reason == "content-filter" {
			p.result.Error = &firstgood.Error{Kind: firstgood.KindRefused, Reason: "the provider's content filter stopped the answer"}
		}
	case "error":
		p.done = false
		if p.trouble = said(e.Error); p.trouble == "" {
			p.trouble = p.kind.Name + " failed and did not say why"
		}
		p.say(p.trouble)
	}
}

func endOpenCode(p *Parser) { p.result.Text = p.text.String() }

// readAider reads a line of aider, which has no events: all that it prints is its answer. It tells what each message has cost,
// rounded, and goes on to exit with status 0 when its provider fails.
func readAider(p *Parser, line []byte) {
	text := string(line)
	p.say(text)
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.text.WriteString(text)
	if found := aiderTokens.FindStringSubmatch(text); found != nil {
		before := p.result.Usage
		p.uses(before.InputTokens+rounded(found[1]), before.OutputTokens+rounded(found[2]))
		p.result.Usage.Source = firstgood.SourceEstimated
		if cost, err := strconv.ParseFloat(found[3], 64); err == nil {
			p.costs(&cost)
		}
		p.trouble = ""
	}
	if strings.HasPrefix(text, "litellm.") && strings.Contains(text, "Error:") {
		p.trouble = text
	}
}

func endAider(p *Parser) {
	p.result.Text = p.text.String()
	p.done = p.trouble == ""
}

var aiderTokens = regexp.MustCompile(`^Tokens: ([\d.,]+[kM]?) sent,.*?([\d.,]+[kM]?) received\.(?: Cost: \$[\d.]+ message, \$([\d.]+) session\.)?`)

// rounded reads a count such as 850, 4.1k or 1.2M.
func rounded(text string) int {
	text = strings.ReplaceAll(text, ",", "")
	factor := 1.0
	if rest, ok := strings.CutSuffix(text, "k"); ok {
		text, factor = rest, 1e3
	} else if rest, ok := strings.CutSuffix(text, "M"); ok {
		text, factor = rest, 1e6
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n*factor > 1e12 {
		return 0
	}
	return int(n*factor + 0.5)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
