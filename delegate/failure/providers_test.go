package failure

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// provider is one thing that a provider is known to answer. Its source names the status with the code, type or message
// and what they mean; where that shows no whole body, the body is made of these.
type provider struct {
	name   string
	source string // "reference: " a page, "seen in issue " one, or "constructed: " of what
	status int
	header http.Header
	body   string
	kind   firstgood.Kind
	after  time.Duration
	final  bool // no other try can mend it
}

// Where rows come from.
const (
	openaiCodes   = "reference: developers.openai.com/docs/guides/error-codes"
	openaiLimits  = "reference: learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/openai-rate-limit-reached"
	anthropicRef  = "reference: platform.claude.com/docs/en/api/errors"
	anthropic529  = "reference: learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error"
	googleRef     = "reference: ai.google.dev/gemini-api/docs/troubleshooting"
	azureRef      = "reference: developersdigest.tech/errors/api/azure-openai, after learn.microsoft.com"
	groqRef       = "reference: console.groq.com/docs/errors"
	mistralRef    = "reference: docs.mistral.ai/resources/error-glossary"
	ollamaRef     = "reference: docs.ollama.com/api/errors"
	openrouterRef = "reference: openrouter.ai/docs/errors"
)

func retryAfterHeader(value string) http.Header { return http.Header{"Retry-After": {value}} }

func providers() []provider {
	return []provider{
		// OpenAI
		{"openai: key", openaiCodes, 401, nil, `{"error":{"message":"Incorrect API key provided: sk-a***z.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, firstgood.KindAuth, 0, false},
		{"openai: no organization", openaiCodes, 401, nil, `{"error":{"message":"You must be a member of an organization to use the API","type":"invalid_request_error","param":null,"code":null}}`, firstgood.KindAuth, 0, false},
		{"openai: address not allowed", openaiCodes, 401, nil, `{"error":{"message":"Your IP is not authorized","type":"invalid_request_error","param":null,"code":null}}`, firstgood.KindAuth, 0, false},
		{"openai: country", openaiCodes, 403, nil, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}`, firstgood.KindAuth, 0, false},
		{"openai: requests a minute", openaiLimits, 429, retryAfterHeader("20"), `{"error":{"message":"Rate limit reached for gpt-5 in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, 20 * time.Second, false},
		{"openai: tokens a minute, in words", openaiLimits, 429, nil, `{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. Please try again in 1m2.5s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, 62500 * time.Millisecond, false},
		{"openai: milliseconds in the header", openaiLimits, 429, http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"640"}}, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, 640 * time.Millisecond, false},
		{"openai: a request above the limit", "seen in issue TheR1D/shell_gpt#653", 429, nil, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 31538. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, firstgood.KindContextLength, 0, false},
		{"openai: quota", openaiCodes, 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, firstgood.KindRateLimited, 0, true},
		{"openai: no credit", openaiCodes, 429, nil, `{"error":{"message":"You have run out of credits","type":"insufficient_quota","param":null,"code":"credit_balance_exhausted"}}`, firstgood.KindRateLimited, 0, true},
		{"openai: a project's limit", openaiCodes, 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"project_spend_limit_exceeded"}}`, firstgood.KindRateLimited, 0, true},
		{"openai: too fast a rise", openaiCodes, 429, retryAfterHeader("5"), `{"error":{"message":"Slow down","type":"rate_limit_error","param":null,"code":"slow_down"}}`, firstgood.KindRateLimited, 5 * time.Second, false},
		{"openai: too fast a rise, as it was before", openaiCodes, 503, nil, `{"error":{"message":"Slow down","type":"service_unavailable_error","code":"slow_down"}}`, firstgood.KindRateLimited, 0, false},
		{"openai: server error", openaiCodes, 500, nil, `{"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}`, firstgood.KindUnavailable, 0, false},
		{"openai: overloaded", openaiCodes, 503, nil, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"service_unavailable_error","param":null,"code":"server_is_overloaded"}}`, firstgood.KindUnavailable, 0, false},
		{"openai: told not to try again", "constructed: the header that the official clients obey", 503, http.Header{"X-Should-Retry": {"false"}}, ``, firstgood.KindUnavailable, 0, true},
		{"openai: parameter", openaiCodes, 400, nil, `{"error":{"message":"Invalid service_tier argument: The requested service tier is not allowed for this project.","type":"invalid_request_error","param":"service_tier","code":null}}`, firstgood.KindBadRequest, 0, false},
		{"openai: context", "seen in issue rahul2002m/ChatPDF#6", 400, nil, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 6988 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, firstgood.KindContextLength, 0, false},
		{"openai: model", "constructed: the code of OpenAI's 404", 404, nil, `{"error":{"message":"The model x does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, firstgood.KindBadRequest, 0, false},
		{"openai: S10, policy", "constructed: the code of a refused image prompt", 400, nil, `{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}`, firstgood.KindRefused, 0, false},
		{"openai: S10, prompt flagged", "constructed: the wording of a flagged reasoning prompt", 400, nil, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, firstgood.KindRefused, 0, false},
		{"openai: S4, in a stream", "seen in issue editor-code-assistant/eca#559", 200, nil, `{"type":"error","code":"server_is_overloaded","message":"Our servers are currently overloaded. Please try again later.","param":null}`, firstgood.KindUnavailable, 0, false},
		{"openai: S5, response.failed", "constructed: the event of OpenAI's Responses", 200, nil, `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"The model failed to generate a response."}}}`, firstgood.KindUnavailable, 0, false},
		{"openai: S2, quota in a stream", "constructed: the quota's object as a frame", 200, nil, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, firstgood.KindRateLimited, 0, true},

		// Azure
		{"azure: S10, filter", "seen in issue compl-ai/compl-ai#20", 400, nil, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"medium"}}}}}`, firstgood.KindRefused, 0, false},
		{"azure: S10, filter without details", azureRef, 400, nil, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}`, firstgood.KindRefused, 0, false},
		{"azure: S10, filter seen inside alone", "constructed: the inner code under a code that says nothing", 400, nil, `{"error":{"message":"Bad request","code":"BadRequest","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, firstgood.KindRefused, 0, false},
		{"azure: deployment", "seen in issue chatboxai/chatbox#646", 404, nil, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}`, firstgood.KindBadRequest, 0, false},
		{"azure: tokens a day, in words", "seen in issue jasonacox/TinyLLM#17", 429, nil, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2023-05-15 have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 86400 seconds."}}`, firstgood.KindRateLimited, 24 * time.Hour, false},
		{"azure: rate", "seen in issue microsoft/copilot-camp#551", 429, nil, `{"error":{"code":"429","message":"Rate limit is exceeded. Try again in 2 seconds."}}`, firstgood.KindRateLimited, 2 * time.Second, false},
		{"azure: rate, with a header", "constructed: the same with both", 429, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"6500"}}, `{"error":{"code":"429","message":"Rate limit is exceeded. Try again in 2 seconds."}}`, firstgood.KindRateLimited, 6500 * time.Millisecond, false},
		{"azure: peak load", "seen in issue pollinations/pollinations#6260", 429, nil, `{"error":{"code":"RATE_LIMITED","message":"The system is currently experiencing high demand and cannot process your request. Please retry after 20 seconds."}}`, firstgood.KindRateLimited, 20 * time.Second, false},
		{"azure: key", "constructed: the wording of Azure's 401", 401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, firstgood.KindAuth, 0, false},
		{"azure: network", azureRef, 403, nil, `{"error":{"code":"AccessDenied","message":"Public access is disabled. Please configure private endpoint."}}`, firstgood.KindAuth, 0, false},
		{"azure: gateway's own shape", "constructed: API Management in front of Azure", 429, retryAfterHeader("30"), `{"statusCode":429,"message":"Rate limit is exceeded. Try again in 12 seconds."}`, firstgood.KindRateLimited, 30 * time.Second, false},

		// Anthropic
		{"anthropic: request", anthropicRef, 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"},"request_id":"req_1"}`, firstgood.KindBadRequest, 0, false},
		{"anthropic: prompt", "seen in issue anthropics/claude-code#62560", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 211180 tokens > 200000 maximum"},"request_id":"req_1"}`, firstgood.KindContextLength, 0, false},
		{"anthropic: no credit", "seen in issue anthropics/claude-code#66314", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_1"}`, firstgood.KindRateLimited, 0, true},
		{"anthropic: own limit", "seen in issue anthropics/claude-code#38035", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC."},"request_id":"req_1"}`, firstgood.KindRateLimited, 0, true},
		{"anthropic: S10, output blocked", "constructed: the wording of a blocked output", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, firstgood.KindRefused, 0, false},
		{"anthropic: key", anthropicRef, 401, nil, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`, firstgood.KindAuth, 0, false},
		{"anthropic: billing", anthropicRef, 402, nil, `{"type":"error","error":{"type":"billing_error","message":"There's an issue with your billing"},"request_id":"req_1"}`, firstgood.KindRateLimited, 0, true},
		{"anthropic: permission", anthropicRef, 403, nil, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."},"request_id":"req_1"}`, firstgood.KindAuth, 0, false},
		{"anthropic: not found", anthropicRef, 404, nil, `{"type":"error","error":{"type":"not_found_error","message":"The requested resource could not be found."},"request_id":"req_1"}`, firstgood.KindError, 0, false},
		{"anthropic: conflict", anthropicRef, 409, nil, `{"type":"error","error":{"type":"conflict_error","message":"The request conflicts with the current state of a resource."}}`, firstgood.KindError, 0, false},
		{"anthropic: size", anthropicRef, 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, firstgood.KindContextLength, 0, false},
		{"anthropic: rate", anthropicRef, 429, retryAfterHeader("12"), `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50 requests per minute."},"request_id":"req_1"}`, firstgood.KindRateLimited, 12 * time.Second, false},
		{"anthropic: the tier's limit", anthropic529, 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"Your organization has reached its monthly spend limit.","details":{"error_code":"enforced_spend_limit_reached"}}}`, firstgood.KindRateLimited, 0, true},
		{"anthropic: long context to be paid", "seen in issue anthropics/claude-code#44863", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."},"request_id":"req_1"}`, firstgood.KindContextLength, 0, false},
		{"anthropic: error", anthropicRef, 500, nil, `{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_1"}`, firstgood.KindUnavailable, 0, false},
		{"anthropic: timeout", anthropicRef, 504, nil, `{"type":"error","error":{"type":"timeout_error","message":"Request timeout"}}`, firstgood.KindUnavailable, 0, false},
		{"anthropic: overloaded", anthropic529, 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, firstgood.KindUnavailable, 0, false},
		{"anthropic: overloaded for a time", anthropic529, 529, retryAfterHeader("3"), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, firstgood.KindUnavailable, 3 * time.Second, false},
		{"anthropic: S4, in a stream", "reference: platform.claude.com/docs/en/build-with-claude/streaming", 200, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, firstgood.KindUnavailable, 0, false},
		{"anthropic: rate in a stream", "constructed: another type in the same frame", 200, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, firstgood.KindRateLimited, 0, false},
		{"anthropic: timeout in a stream", "constructed: another type in the same frame", 200, nil, `{"type":"error","error":{"type":"timeout_error","message":"Request timeout"}}`, firstgood.KindTimeout, 0, false},

		// Google
		{"google: argument", googleRef, 400, nil, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"foo\"","status":"INVALID_ARGUMENT"}}`, firstgood.KindBadRequest, 0, false},
		{"google: key", "reference: developersdigest.tech/errors/api/gemini-api, after ai.google.dev", 400, nil, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`, firstgood.KindAuth, 0, false},
		{"google: key, by its reason alone", "constructed: the same in another language", 400, nil, `{"error":{"code":400,"message":"Schlüssel ungültig","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, firstgood.KindAuth, 0, false},
		{"google: location", "seen in issue poenl/gemini-api#4", 400, nil, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, firstgood.KindAuth, 0, false},
		{"google: billing to be enabled", googleRef, 400, nil, `{"error":{"code":400,"message":"The Gemini API free tier is not available in your country. Please enable billing.","status":"FAILED_PRECONDITION"}}`, firstgood.KindBadRequest, 0, false},
		{"google: input", "constructed: the wording of an input that is too long", 400, nil, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, firstgood.KindContextLength, 0, false},
		{"google: permission", googleRef, 403, nil, `{"error":{"code":403,"message":"Your API key doesn't have the required permissions.","status":"PERMISSION_DENIED"}}`, firstgood.KindAuth, 0, false},
		{"google: model", googleRef, 404, nil, `{"error":{"code":404,"message":"models/gemini-x is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}`, firstgood.KindBadRequest, 0, false},
		{"google: rate, with details", "seen in issue RooCodeInc/Roo-Code#3883", 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.Help","links":[]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}`, firstgood.KindRateLimited, 26 * time.Second, false},
		{"google: rate, in words", "seen in issue browserbase/mcp-server-browserbase#129", 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 4000000\nPlease retry in 47.434392449s.","status":"RESOURCE_EXHAUSTED","details":[]}}`, firstgood.KindRateLimited, 47434392449, false},
		{"google: the header before the details", "constructed: both", 429, retryAfterHeader("40"), `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"26s"}]}}`, firstgood.KindRateLimited, 40 * time.Second, false},
		{"google, by OpenAI's protocol: rate", "seen in issue google-gemini/gemini-cli#6454", 429, nil, `[{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}]`, firstgood.KindRateLimited, 0, false},
		{"google, by OpenAI's protocol: rate, with details", "constructed: the list around the details", 429, nil, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}]`, firstgood.KindRateLimited, 1500 * time.Millisecond, false},
		{"google, by OpenAI's protocol: S4, in a stream", "constructed: the list as a frame", 200, nil, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, firstgood.KindUnavailable, 0, false},
		{"google: error", googleRef, 500, nil, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, firstgood.KindUnavailable, 0, false},
		{"google: overloaded", googleRef, 503, nil, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, firstgood.KindUnavailable, 0, false},
		{"google: deadline", googleRef, 504, nil, `{"error":{"code":504,"message":"The service is unable to finish processing within the deadline.","status":"DEADLINE_EXCEEDED"}}`, firstgood.KindTimeout, 0, false},
		{"google: an error in an error", "seen in issue continuedev/continue#10560", 429, nil, `{"error":{"message":"{\n  \"error\": {\n    \"code\": 429,\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n","code":429,"status":"Too Many Requests"}}`, firstgood.KindRateLimited, 0, false},

		// Groq
		{"groq: request", groqRef, 400, nil, `{"error":{"message":"String - description of the specific error","type":"invalid_request_error"}}`, firstgood.KindBadRequest, 0, false},
		{"groq: tools", "seen in issue sipeed/picoclaw#748", 400, nil, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=message{}>"}}`, firstgood.KindError, 0, false},
		{"groq: key", groqRef, 401, nil, `{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}`, firstgood.KindAuth, 0, false},
		{"groq: model", "seen in issue continuedev/continue#11567", 404, nil, `{"error":{"message":"The model llama3.1-405b does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`, firstgood.KindBadRequest, 0, false},
		{"groq: a request above the limit", "seen in issue assafelovic/gpt-researcher#985", 413, nil, `{"error":{"message":"Request too large for model llama-3.1-70b-versatile in organization org_x on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, firstgood.KindContextLength, 0, false},
		{"groq: rate", "seen in issue crewAIInc/crewAI#494", 429, nil, `{"error":{"message":"Rate limit reached for model llama3-70b-8192 in organization org_123 on tokens per minute (TPM): Limit 5000, Used 5747, Requested ~4251. Please try again in 59.977s.","type":"tokens","code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, 59977 * time.Millisecond, false},
		{"groq: flex", "reference: console.groq.com/docs/flex-processing", 498, nil, `{"error":{"message":"Flex tier capacity exceeded","type":"invalid_request_error","code":"capacity_exceeded"}}`, firstgood.KindUnavailable, 0, false},
		{"groq: flex without a body", groqRef, 498, nil, ``, firstgood.KindUnavailable, 0, false},
		{"groq: semantics", groqRef, 422, nil, `{"error":{"message":"The request was well-formed, but could not be followed","type":"invalid_request_error"}}`, firstgood.KindBadRequest, 0, false},
		{"groq: gateway", groqRef, 502, nil, `{"error":{"message":"Bad Gateway","type":"internal_server_error"}}`, firstgood.KindUnavailable, 0, false},

		// Mistral
		{"mistral: model", mistralRef, 400, nil, `{"object":"error","message":"Invalid model: x","type":"invalid_request_error","param":"model","code":"unknown_model"}`, firstgood.KindBadRequest, 0, false},
		{"mistral: key", "constructed: the gateway's shape", 401, nil, `{"message":"Unauthorized","request_id":"r"}`, firstgood.KindAuth, 0, false},
		{"mistral: parameter", "seen in issue openai/openai-agents-python#442", 422, nil, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error","param":null,"code":null}`, firstgood.KindBadRequest, 0, false},
		{"mistral: detail", "seen in issue BerriAI/litellm#8978", 422, nil, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":true}]}`, firstgood.KindBadRequest, 0, false},
		{"mistral: prompt", "reference: portkey.ai/error-library/context-length-exceeded-error-13710000", 400, nil, `{"object":"error","message":"Prompt contains 66385 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","param":null,"code":null}`, firstgood.KindContextLength, 0, false},
		{"mistral: tier", "seen in issue continuedev/continue#6185", 429, nil, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","param":null,"code":null}`, firstgood.KindRateLimited, 0, false},
		{"mistral: rate", "seen in issue raycast/extensions#31107", 429, nil, `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`, firstgood.KindRateLimited, 0, false},
		{"mistral: rate in a stream", "constructed: the same as a frame", 200, nil, `{"object":"error","message":"slow","type":"rate_limited","param":null,"code":"1300"}`, firstgood.KindRateLimited, 0, false},
		{"mistral: unavailable", mistralRef, 503, nil, `{"object":"error","message":"Service unavailable","type":"server_error","param":null,"code":null}`, firstgood.KindUnavailable, 0, false},

		// Ollama
		{"ollama: model", "reference: mintlify.com/ollama/ollama/api/errors", 404, nil, `{"error":"model 'llama3.2' not found"}`, firstgood.KindBadRequest, 0, false},
		{"ollama, by OpenAI's protocol: model", "seen in issue netease-youdao/QAnything#555", 404, nil, `{"error":{"message":"model \"ollama\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, firstgood.KindBadRequest, 0, false},
		{"ollama: request", ollamaRef, 400, nil, `{"error":"invalid character '}' looking for beginning of value"}`, firstgood.KindBadRequest, 0, false},
		{"ollama: sign in", "reference: mintlify.com/ollama/ollama/api/errors", 401, nil, `{"error":"unauthorized","signin_url":"https://ollama.com/connect?name=h&key=k"}`, firstgood.KindAuth, 0, false},
		{"ollama: rate", ollamaRef, 429, nil, `{"error":"too many requests"}`, firstgood.KindRateLimited, 0, false},
		{"ollama: error", ollamaRef, 500, nil, `{"error":"the model failed to generate a response"}`, firstgood.KindUnavailable, 0, false},
		{"ollama: cloud", ollamaRef, 502, nil, `{"error":"upstream unreachable"}`, firstgood.KindUnavailable, 0, false},
		{"ollama: in a stream", ollamaRef, 200, nil, `{"error":"an error was encountered while running the model"}`, firstgood.KindError, 0, false},

		// vLLM
		{"vllm: context", "seen in issue vllm-project/vllm#20409", 400, nil, `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion. None","type":"BadRequestError","param":null,"code":400}`, firstgood.KindContextLength, 0, false},
		{"vllm: model", "seen in issue QwenLM/Qwen-Agent#110", 404, nil, `{"object":"error","message":"The model /data/Qwen1.5-72B-Chat does not exist.","type":"NotFoundError","param":null,"code":404}`, firstgood.KindBadRequest, 0, false},
		{"vllm: today's shape", "constructed: as above, in an error member", 400, nil, `{"error":{"message":"top_p must be in (0, 1]","type":"BadRequestError","param":null,"code":400}}`, firstgood.KindBadRequest, 0, false},
		{"vllm: prompt", "constructed: the wording of its engine", 400, nil, `{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 4096.","type":"BadRequestError","param":null,"code":400}}`, firstgood.KindContextLength, 0, false},
		{"vllm: key", "constructed: its --api-key", 401, nil, `{"error":"Unauthorized"}`, firstgood.KindAuth, 0, false},
		{"vllm: dead engine", "constructed: the message of its EngineDeadError", 500, nil, `{"object":"error","message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}`, firstgood.KindUnavailable, 0, false},
		{"vllm: in a stream", "constructed: its create_streaming_error_response", 200, nil, `{"error":{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}}`, firstgood.KindBadRequest, 0, false},
		{"vllm: in a stream, internal", "constructed: its create_streaming_error_response", 200, nil, `{"object":"error","message":"boom","type":"InternalServerError","param":null,"code":500}`, firstgood.KindUnavailable, 0, false},

		// Others that speak OpenAI's protocol
		{"openrouter: no credit", openrouterRef, 402, nil, `{"error":{"code":402,"message":"Insufficient credits"}}`, firstgood.KindRateLimited, 0, true},
		{"openrouter: moderation", openrouterRef, 403, nil, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}`, firstgood.KindRefused, 0, false},
		{"openrouter: timeout", openrouterRef, 408, nil, `{"error":{"code":408,"message":"Your request timed out"}}`, firstgood.KindTimeout, 0, false},
		{"openrouter: a model that is down, under a 200", openrouterRef, 200, nil, `{"error":{"code":502,"message":"Your chosen model is down or we received an invalid response from it"}}`, firstgood.KindUnavailable, 0, false},
		{"llama.cpp: context", "seen in issue continuedev/continue#9797", 400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`, firstgood.KindContextLength, 0, false},
		{"lm studio: context", "seen in issue cline/cline#3664", 400, nil, `{"error":"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough."}`, firstgood.KindContextLength, 0, false},
		{"a proxy's page with a date", "constructed: nginx", 503, http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:29:30 GMT"}, "Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}}, `<html><h1>503 Service Temporarily Unavailable</h1></html>`, firstgood.KindUnavailable, 90 * time.Second, false},
		{"S25: 429 that says nothing", "constructed: no header, no body", 429, nil, ``, firstgood.KindRateLimited, 0, false},
		{"S25: Retry-After: 60", "constructed: the header alone", 429, retryAfterHeader("60"), ``, firstgood.KindRateLimited, time.Minute, false},
	}
}

func TestProviders(t *testing.T) {
	c := classifier(t, Config{})
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			f := c.Classify(p.status, p.header, []byte(p.body), nil)
			if f == nil {
				t.Fatalf("got no failure, want %s (%s)", p.kind, p.source)
			}
			var said *ServerError
			if !errors.As(f, &said) {
				t.Fatal("the failure holds no *ServerError")
			}
			if f.Kind != p.kind || f.RetryAfter != p.after || said.final != p.final {
				t.Errorf("got  %s, after %v, final %v: %s\nwant %s, after %v, final %v (%s)",
					f.Kind, f.RetryAfter, said.final, f.Reason, p.kind, p.after, p.final, p.source)
			}
		})
	}
}

// Each row of the built-in table decides one row of the tests.
func TestBuiltinRowsAreUsed(t *testing.T) {
	c := classifier(t, Config{})
	used := make([]bool, len(c.rules))
	note := func(status int, body string) {
		e, found := errorObject(status, []byte(body))
		if !found {
			e = evidence{status: status}
		}
		for i, r := range c.rules {
			if r.holds(status, e) {
				used[i] = true
				return
			}
		}
	}
	for _, p := range providers() {
		note(p.status, p.body)
	}
	for _, r := range responses {
		note(r.status, r.body)
	}
	for _, body := range []string{ // what only a message tells
		`{"error":"context window exceeded"}`, `{"error":"it exceeds the model's context"}`, `{"error":"inputs must have less than 1024 tokens. Given: 1124"}`, `{"error":"please reduce the length of the prompt"}`,
		`{"error":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}`,
		`{"error":"your prompt was flagged as potentially violating our policy"}`, `{"error":"rejected as a result of our safety system"}`,
		`{"error":"too many requests"}`, `{"error":"you exceeded your current quota"}`, `{"error":"insufficient balance"}`, `{"error":"the model is overloaded"}`,
	} {
		note(400, body)
	}
	for i, r := range c.rules {
		if !used[i] && r.Message != "" {
			t.Errorf("no test has words for %+v", r.Rule)
		}
	}
}
