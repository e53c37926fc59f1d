package judge

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// API is a vendor's API as far as probes of its client show it.
type API struct {
	// Vendor names it in messages.
	Vendor string
	// Base is the path before that of an operation, such as `/v1`.
	Base string
	// Placeholders are the parts of paths that differ between requests.
	Placeholders []Placeholder
	// Numbers are the query parameters that the client builds from numbers from 1.
	Numbers []string
	// Error is the type of an answer's body with a status from 400.
	Error reflect.Type
	Rules Rules
	// operations are those that were probed.
	operations []operation
}

// Placeholder stands for a part of a path.
type Placeholder struct {
	// Name is how an operation is called with it, such as `{id}`.
	Name string
	// Probed is the value that probes send.
	Probed  string
	Pattern *regexp.Regexp
}

// operation is one that the client has: its request, as the client itself sends it with every option set, and
// the types of its bodies.
type operation struct {
	name    string
	method  string
	parts   []string
	queries []string
	request reflect.Type
	answer  []reflect.Type
}

// Probe is a call of the client. Several may probe one operation, each with other options.
type Probe struct {
	// Send calls the client, which reaches the API by this HTTP client alone. Its error does not matter.
	Send func(*http.Client)
	// Request is a value of the type of the request's body; nil without a body.
	Request any
	// Answer has values of the types whose members the answer has; none if the answer has no body.
	Answer []any
}

// ProbeURL is the address of the API for clients that send probes, without the base.
const ProbeURL = "http://probe.invalid"

// Probe returns the API with the operations that the client calls: a transport that answers nothing keeps the
// requests.
func (api API) Probe(probes []Probe) (API, error) {
	for index, probe := range probes {
		transport := &captureTransport{}
		probe.Send(&http.Client{Transport: transport})
		if transport.sent == nil {
			return api, fmt.Errorf("the client of %s sent no request in probe %d", api.Vendor, index)
		}
		api.add(probe, transport.sent)
	}
	return api, nil
}

func (api *API) add(probe Probe, sent *http.Request) {
	parts := strings.Split(strings.TrimPrefix(sent.URL.Path, api.Base), "/")
	for at, part := range parts {
		for _, each := range api.Placeholders {
			if part == each.Probed {
				parts[at] = each.Name
			}
		}
	}
	name := sent.Method + " " + strings.Join(parts, "/")
	at := slices.IndexFunc(api.operations, func(each operation) bool { return each.name == name })
	if at < 0 {
		at = len(api.operations)
		added := operation{name: name, method: sent.Method, parts: parts}
		if probe.Request != nil {
			added.request = reflect.TypeOf(probe.Request)
		}
		for _, value := range probe.Answer {
			added.answer = append(added.answer, reflect.TypeOf(value))
		}
		api.operations = append(api.operations, added)
	}
	for query := range sent.URL.Query() {
		api.operations[at].queries = append(api.operations[at].queries, query)
	}
}

type captureTransport struct{ sent *http.Request }

func (t *captureTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.sent = request
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: 400, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: request}, nil
}

// judgeExchange returns the name of the operation and what is wrong with its request and its answer.
func (api API) judgeExchange(sent Exchange) (string, []string) {
	target, err := url.Parse(sent.Target)
	if err != nil {
		return sent.Method, []string{"request: the target is not a URL"}
	}
	found := api.findOperation(sent.Method, target.Path)
	if found == nil {
		message := fmt.Sprintf("request: %s's client has no such method and path", api.Vendor)
		return sent.Method + " " + target.Path, []string{message}
	}
	messages := api.checkQueries(*found, target.Query())
	if found.request != nil {
		messages = append(messages, api.Rules.checkJSON("request", sent.RequestBody, found.request)...)
	} else if sent.RequestBody != "" {
		messages = append(messages, "request: a body")
	}
	switch {
	case sent.Status == 0:
	case sent.Status >= 400:
		messages = append(messages, api.Rules.checkJSON("error", sent.AnswerBody, api.Error)...)
	case len(found.answer) > 0:
		messages = append(messages, api.Rules.checkJSON("answer", sent.AnswerBody, found.answer...)...)
	case sent.AnswerBody != "":
		messages = append(messages, "answer: a body")
	}
	return found.name, messages
}

func (api API) checkQueries(found operation, query url.Values) []string {
	messages := []string{}
	for name, values := range query {
		if !slices.Contains(found.queries, name) {
			messages = append(messages, "request: unknown query "+name)
		}
		for _, value := range values {
			number, err := strconv.Atoi(value)
			if slices.Contains(api.Numbers, name) && (err != nil || number < 1) {
				messages = append(messages, fmt.Sprintf("request: query %s is not a number from 1", name))
			}
		}
	}
	return messages
}

func (api API) findOperation(method, path string) *operation {
	if !strings.HasPrefix(path, api.Base+"/") {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(path, api.Base), "/")
	at := slices.IndexFunc(api.operations, func(each operation) bool {
		return each.method == method && slices.EqualFunc(each.parts, parts, api.isPart)
	})
	if at < 0 {
		return nil
	}
	return &api.operations[at]
}

func (api API) isPart(expected, part string) bool {
	if expected == part {
		return true
	}
	for _, each := range api.Placeholders {
		if each.Name == expected {
			return each.Pattern.MatchString(part)
		}
	}
	return false
}
