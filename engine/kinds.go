package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/agent"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/delegate/anthropic"
	"github.com/firstgood/firstgood/delegate/command"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/httpcall"
	"github.com/firstgood/firstgood/delegate/openaichat"
)

// unable is the error of a delegate that cannot start in this environment.
type unable struct {
	kind     firstgood.Kind
	problems config.Problems // what it lacks, at least one thing
}

func (u *unable) Error() string { return u.problems.Error() }

func (u *unable) attempt(context.Context, firstgood.Brief) (firstgood.Reply, error) {
	first := u.problems[0]
	return firstgood.Reply{}, &firstgood.Error{Kind: u.kind, Reason: first.Message, Detail: first.Pos.String(), Err: errUnable}
}

var errUnable = errors.New("the delegate lacks something of the environment")

// delegate builds a delegate of any kind. The error is *unable when it lacks something of the environment.
func (e *Engine) delegate(d *config.Delegate) (firstgood.Delegate[firstgood.Reply], error) {
	if unset := d.Unset(e.lookup); len(unset) > 0 {
		return nil, &unable{firstgood.KindBadRequest, unset}
	}
	e.read = nil
	switch spec := d.Spec.(type) {
	case *config.OpenAI:
		return e.openai(d, spec)
	case *config.Command:
		return e.command(d, spec)
	case *config.HTTP:
		return e.http(d, spec)
	case *config.Anthropic:
		return e.anthropic(d, spec)
	case *config.Agent:
		return e.agent(d, spec)
	}
	return nil, fmt.Errorf("%v: %s: no delegate is made of kind %s", d.Pos, d.Name, d.Kind)
}

func (e *Engine) openai(d *config.Delegate, spec *config.OpenAI) (firstgood.Delegate[firstgood.Reply], error) {
	cfg := openaichat.Config{
		Name: d.Name, Model: e.text(spec.Model), BaseURL: e.text(spec.BaseURL), APIKey: e.text(spec.APIKey), System: e.text(spec.System),
		Headers: e.texts(spec.Headers), Params: e.values(spec.Params), Retries: d.Retries, HTTPClient: e.client,
		FirstToken: d.FirstToken, Idle: d.Idle, Rules: e.rules,
	}
	key := spec.APIKeyEnv
	if cfg.BaseURL == "" && !spec.BaseURL.IsZero() {
		return nil, placeless(d, spec.BaseURL)
	}
	if cfg.BaseURL == "" { // only here, so that no key of the environment goes to a host it was not meant for
		cfg.BaseURL = e.variable("OPENAI_BASE_URL")
		cfg.Organization, cfg.Project = e.variable("OPENAI_ORG_ID"), e.variable("OPENAI_PROJECT_ID")
		if cfg.APIKey == "" && key == "" {
			key = "OPENAI_API_KEY"
		}
	}
	if key != "" {
		cfg.APIKey = e.variable(key)
	}
	if cfg.APIKey == "" && (spec.APIKeyEnv != "" || cfg.BaseURL == "") {
		return nil, keyless(d, key)
	}
	e.keys = append(e.keys, cfg.APIKey)
	cfg.Secrets = e.read
	built, err := openaichat.New(cfg)
	return built, wrong(d, err)
}

func (e *Engine) anthropic(d *config.Delegate, spec *config.Anthropic) (firstgood.Delegate[firstgood.Reply], error) {
	cfg := anthropic.Config{
		Name: d.Name, Model: e.text(spec.Model), BaseURL: e.text(spec.BaseURL), APIKey: e.text(spec.APIKey), System: e.text(spec.System),
		MaxTokens: spec.MaxTokens, Headers: e.texts(spec.Headers), Params: e.values(spec.Params), Retries: d.Retries, HTTPClient: e.client,
		FirstToken: d.FirstToken, Idle: d.Idle, Rules: e.rules,
	}
	key := spec.APIKeyEnv
	if cfg.BaseURL == "" && !spec.BaseURL.IsZero() {
		return nil, placeless(d, spec.BaseURL)
	}
	if cfg.BaseURL == "" { // as for openai
		cfg.BaseURL = e.variable("ANTHROPIC_BASE_URL")
		if cfg.APIKey == "" && key == "" {
			key = "ANTHROPIC_API_KEY"
		}
	}
	if key != "" {
		cfg.APIKey = e.variable(key)
	}
	if cfg.APIKey == "" && (spec.APIKeyEnv != "" || cfg.BaseURL == "") {
		return nil, keyless(d, key)
	}
	e.keys = append(e.keys, cfg.APIKey)
	cfg.Secrets = e.read
	built, err := anthropic.New(cfg)
	return built, wrong(d, err)
}

// placeless is the error of a delegate whose base_url has come to nothing. To take the provider's own instead would send
// a brief, and a key, to where they were not meant for.
func placeless(d *config.Delegate, base config.Text) error {
	return &unable{firstgood.KindBadRequest, config.Problems{{Pos: base.Pos(), Message: fmt.Sprintf(
		"delegates.%s: base_url is empty once its variables are filled in; set them, or leave base_url out for the provider's own", d.Name)}}}
}

func keyless(d *config.Delegate, variable string) error {
	return &unable{firstgood.KindAuth, config.Problems{{Pos: d.Pos, Message: fmt.Sprintf(
		"delegates.%s: there is no API key: the environment variable %s is not set; set it, or name another with api_key_env", d.Name, variable)}}}
}

func (e *Engine) command(d *config.Delegate, spec *config.Command) (firstgood.Delegate[firstgood.Reply], error) {
	cfg := command.Config{
		Name: d.Name, Stdin: spec.Stdin, Dir: e.text(spec.Dir),
		Grace: spec.Grace, MaxOutput: int(spec.MaxOutput),
	}
	for _, arg := range spec.Argv {
		cfg.Argv = append(cfg.Argv, e.text(arg))
	}
	cfg.PassEnv, cfg.Env = e.variables(spec.Env)
	cfg.Secrets = e.read
	built, err := command.New(cfg)
	if err != nil {
		return nil, wrong(d, err)
	}
	// A program that fails now and then fails with an exit status.
	return failure.WithRetries(inPlaces(d, built), d.Retries, firstgood.KindError), nil
}

func (e *Engine) agent(d *config.Delegate, spec *config.Agent) (firstgood.Delegate[firstgood.Reply], error) {
	cfg := agent.Config{Name: d.Name, Kind: spec.Kind, Program: e.text(spec.Program), Dir: e.work.Dir, Grace: spec.Grace, MaxOutput: int(spec.MaxOutput)}
	for _, arg := range spec.Args {
		cfg.Args = append(cfg.Args, e.text(arg))
	}
	cfg.PassEnv, cfg.Env = e.variables(spec.Env)
	cfg.Secrets = e.read
	built, err := agent.New(cfg)
	if err != nil {
		return nil, wrong(d, err)
	}
	return failure.WithRetries(inPlaces(d, built), d.Retries, firstgood.KindError), nil
}

// variables are the environment of a program: those to pass on, and those to set.
func (e *Engine) variables(list []config.Variable) (pass []string, set map[string]string) {
	for _, v := range list {
		if v.Pass {
			pass = append(pass, v.Name)
			continue
		}
		if set == nil {
			set = map[string]string{}
		}
		set[v.Name] = e.text(v.Value)
	}
	return pass, set
}

func (e *Engine) http(d *config.Delegate, spec *config.HTTP) (firstgood.Delegate[firstgood.Reply], error) {
	cfg := httpcall.Config{
		Name: d.Name, URL: e.text(spec.URL), Method: spec.Method, Headers: e.texts(spec.Headers), Result: e.text(spec.Result),
		Retries: d.Retries, HTTPClient: e.client, Rules: e.rules,
	}
	if spec.HasJSON {
		cfg.JSON = e.value(spec.JSON)
	}
	cfg.Secrets = e.read
	built, err := httpcall.New(cfg)
	return built, wrong(d, err)
}

// wrong gives an error of a constructor the delegate's place in the file.
func wrong(d *config.Delegate, err error) error {
	if err == nil {
		return nil
	}
	return config.Problems{{Pos: d.Pos, Message: err.Error(), Err: err}}
}

// graceOf is how long the delegate may take to end once it is told to.
func graceOf(d *config.Delegate) time.Duration {
	switch spec := d.Spec.(type) {
	case *config.Command:
		return spec.Grace
	case *config.Agent:
		return spec.Grace
	}
	return 0
}

// text expands a text of a delegate whose variables are known to be set.
func (e *Engine) text(t config.Text) string {
	s, _ := t.Expand(e.reading)
	return s
}

// reading looks a variable up for a delegate or a rule. What it holds may be a secret that a server or program repeats,
// so it is kept.
func (e *Engine) reading(name string) (string, bool) {
	value, ok := e.lookup(name)
	if ok {
		e.read = append(e.read, value)
		if soundsSecret(name) {
			e.keys = append(e.keys, value)
		}
	}
	return value, ok
}

func (e *Engine) texts(in map[string]config.Text) map[string]string {
	out := make(map[string]string, len(in))
	for name, t := range in {
		out[name] = e.text(t)
	}
	return out
}

func (e *Engine) value(v config.Value) any {
	out, _ := v.Expand(e.reading)
	return out
}

func (e *Engine) values(in map[string]config.Value) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		out[name] = e.value(v)
	}
	return out
}

// rulesOf makes rules of the classifier of those in the file. One rule holds for one status.
func rulesOf(in []config.FailureRule) []failure.Rule {
	var rules []failure.Rule
	for _, r := range in {
		if len(r.Status) == 0 {
			rules = append(rules, failure.Rule{Message: r.Matches, Kind: r.Kind})
		}
		for _, status := range r.Status {
			rules = append(rules, failure.Rule{Message: r.Matches, Kind: r.Kind, Status: status})
		}
	}
	return rules
}

func (e *Engine) variable(name string) string {
	value, _ := e.lookup(name)
	return value
}
