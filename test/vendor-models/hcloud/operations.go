package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

// operation is one that Hetzner's client has: its request, as the client itself sends it with every option
// set, and the types of its answer.
type operation struct {
	name    string
	method  string
	path    string
	queries map[string]bool
	answer  []reflect.Type
}

// anyID takes the place of an id in a probed path.
const anyID = 4242424242

const base = "/v1"

// probeOperations sends the requests of the client to a transport that answers nothing, and keeps them.
func probeOperations() ([]operation, error) {
	probes := []struct {
		send   func(context.Context, *hcloud.Client) error
		answer []any
	}{
		{func(ctx context.Context, client *hcloud.Client) error {
			_, _, err := client.Server.GetByID(ctx, anyID)
			return err
		}, []any{schema.ServerGetResponse{}}},
		{func(ctx context.Context, client *hcloud.Client) error {
			opts := hcloud.ServerListOpts{ListOpts: allListOpts, Name: "a", Sort: []string{"id"}}
			opts.Status = []hcloud.ServerStatus{hcloud.ServerStatusRunning}
			_, _, err := client.Server.List(ctx, opts)
			return err
		}, []any{schema.ServerListResponse{}, schema.MetaResponse{}}},
		{func(ctx context.Context, client *hcloud.Client) error {
			opts := hcloud.ActionListOpts{ListOpts: allListOpts, ID: []int64{1}, Sort: []string{"id"}}
			opts.Status = []hcloud.ActionStatus{hcloud.ActionStatusSuccess}
			_, _, err := client.Server.Action.List(ctx, opts)
			return err
		}, []any{schema.ActionListResponse{}, schema.MetaResponse{}}},
		{func(ctx context.Context, client *hcloud.Client) error {
			_, _, err := client.Network.List(ctx, hcloud.NetworkListOpts{ListOpts: allListOpts, Name: "a", Sort: []string{"id"}})
			return err
		}, []any{schema.NetworkListResponse{}, schema.MetaResponse{}}},
	}
	operations := []operation{}
	for _, probe := range probes {
		transport := &captureTransport{}
		client := hcloud.NewClient(
			hcloud.WithEndpoint("http://probe.invalid"+base),
			hcloud.WithToken("probe"),
			hcloud.WithHTTPClient(&http.Client{Transport: transport}),
		)
		// The empty answer is an error of the client; only the request matters.
		_ = probe.send(context.Background(), client)
		sent := transport.sent
		if sent == nil {
			return nil, fmt.Errorf("the client sent no request in a probe")
		}
		path := strings.ReplaceAll(strings.TrimPrefix(sent.URL.Path, base), strconv.Itoa(anyID), "{id}")
		each := operation{name: sent.Method + " " + path, method: sent.Method, path: path, queries: map[string]bool{}}
		for name := range sent.URL.Query() {
			each.queries[name] = true
		}
		for _, value := range probe.answer {
			each.answer = append(each.answer, reflect.TypeOf(value))
		}
		operations = append(operations, each)
	}
	return operations, nil
}

var allListOpts = hcloud.ListOpts{Page: 2, PerPage: 50, LabelSelector: "a"}

type captureTransport struct{ sent *http.Request }

func (t *captureTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.sent = request
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: 400, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: request}, nil
}

// judgeExchange returns the name of the operation and what is wrong with its request and its answer.
func judgeExchange(operations []operation, sent exchange) (string, []string) {
	target, err := url.Parse(sent.Target)
	if err != nil {
		return sent.Method, []string{"request: the target is no URL"}
	}
	found := findOperation(operations, sent.Method, target.Path)
	if found == nil {
		return sent.Method + " " + target.Path, []string{"request: Hetzner's client has no such method and path"}
	}
	messages := []string{}
	query := target.Query()
	for name, values := range query {
		if !found.queries[name] {
			messages = append(messages, "request: unknown query "+name)
		}
		for _, value := range values {
			if message := checkQuery(name, value); message != "" {
				messages = append(messages, "request: "+message)
			}
		}
	}
	if sent.Method == http.MethodGet && sent.RequestBody != "" {
		messages = append(messages, "request: a body")
	}
	if sent.Status == 0 {
		return found.name, messages
	}
	types, at := found.answer, "answer"
	if sent.Status >= 400 {
		types, at = []reflect.Type{reflect.TypeOf(schema.ErrorResponse{})}, "error"
	}
	return found.name, append(messages, checkJSON(at, sent.AnswerBody, types...)...)
}

// checkQuery checks the parameters that the client builds from numbers.
func checkQuery(name, value string) string {
	if name != "page" && name != "per_page" && name != "id" {
		return ""
	}
	if number, err := strconv.Atoi(value); err != nil || number < 1 {
		return fmt.Sprintf("query %s is no number from 1", name)
	}
	return ""
}

func findOperation(operations []operation, method, path string) *operation {
	parts := strings.Split(strings.TrimPrefix(path, base), "/")
	for i := range operations {
		if operations[i].method != method || !strings.HasPrefix(path, base+"/") {
			continue
		}
		expected := strings.Split(operations[i].path, "/")
		if len(expected) != len(parts) {
			continue
		}
		matches := true
		for j, part := range expected {
			_, err := strconv.ParseInt(parts[j], 10, 64)
			matches = matches && (part == parts[j] || part == "{id}" && err == nil)
		}
		if matches {
			return &operations[i]
		}
	}
	return nil
}

// checkJSON reports how a JSON text differs from the union of these struct types.
func checkJSON(at, text string, types ...reflect.Type) []string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return []string{at + ": not JSON"}
	}
	return checkStructs(at, value, types)
}
