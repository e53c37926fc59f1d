package main

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"

	"serverless-ccm.test/vendor-models/judge"
)

// anyID takes the place of an id in a probed path.
const anyID = 4242424242

const base = "/v1"

// probeAPI returns the API with the operations of Hetzner's client that the product uses.
func probeAPI() (judge.API, error) {
	api := judge.API{
		Vendor:       "Hetzner",
		Base:         base,
		Placeholders: []judge.Placeholder{{Name: "{id}", Probed: strconv.Itoa(anyID), Pattern: regexp.MustCompile(`^\d{1,19}$`)}},
		Numbers:      []string{"page", "per_page", "id"},
		Error:        reflect.TypeFor[schema.ErrorResponse](),
		Rules:        rules,
	}
	return api.Probe([]judge.Probe{
		{
			Send: probe(func(ctx context.Context, client *hcloud.Client) {
				_, _, _ = client.Server.GetByID(ctx, anyID)
			}),
			Answer: []any{schema.ServerGetResponse{}},
		},
		{
			Send: probe(func(ctx context.Context, client *hcloud.Client) {
				opts := hcloud.ServerListOpts{ListOpts: allListOpts, Name: "a", Sort: []string{"id"}}
				opts.Status = []hcloud.ServerStatus{hcloud.ServerStatusRunning}
				_, _, _ = client.Server.List(ctx, opts)
			}),
			Answer: []any{schema.ServerListResponse{}, schema.MetaResponse{}},
		},
		{
			Send: probe(func(ctx context.Context, client *hcloud.Client) {
				opts := hcloud.ActionListOpts{ListOpts: allListOpts, ID: []int64{1}, Sort: []string{"id"}}
				opts.Status = []hcloud.ActionStatus{hcloud.ActionStatusSuccess}
				_, _, _ = client.Server.Action.List(ctx, opts)
			}),
			Answer: []any{schema.ActionListResponse{}, schema.MetaResponse{}},
		},
		{
			Send: probe(func(ctx context.Context, client *hcloud.Client) {
				opts := hcloud.NetworkListOpts{ListOpts: allListOpts, Name: "a", Sort: []string{"id"}}
				_, _, _ = client.Network.List(ctx, opts)
			}),
			Answer: []any{schema.NetworkListResponse{}, schema.MetaResponse{}},
		},
	})
}

var allListOpts = hcloud.ListOpts{Page: 2, PerPage: 50, LabelSelector: "a"}

func probe(call func(context.Context, *hcloud.Client)) func(*http.Client) {
	return func(transport *http.Client) {
		call(context.Background(), hcloud.NewClient(
			hcloud.WithEndpoint(judge.ProbeURL+base),
			hcloud.WithToken("probe"),
			hcloud.WithHTTPClient(transport),
		))
	}
}
