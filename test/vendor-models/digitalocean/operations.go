package main

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/digitalocean/godo"

	"serverless-ccm.test/vendor-models/judge"
)

// These take the place of parts of probed paths.
const (
	anyID   = 4242424242
	anyUUID = "42424242-4242-4242-8242-424242424242"
	anyName = "probed-name"
)

// pages is the part of a list's answer that all lists have.
type pages struct {
	Links *godo.Links `json:"links"`
	Meta  *godo.Meta  `json:"meta"`
}

// The client's own types of whole answers are private.
type (
	accountAnswer struct {
		Account godo.Account `json:"account"`
	}
	actionsAnswer struct {
		Actions []godo.Action `json:"actions"`
	}
	regionsAnswer struct {
		Regions []godo.Region `json:"regions"`
	}
	certificatesAnswer struct {
		Certificates []godo.Certificate `json:"certificates"`
	}
	certificateAnswer struct {
		Certificate godo.Certificate `json:"certificate"`
	}
	dropletsAnswer struct {
		Droplets []godo.Droplet `json:"droplets"`
	}
	dropletAnswer struct {
		Droplet godo.Droplet `json:"droplet"`
	}
	balancersAnswer struct {
		LoadBalancers []godo.LoadBalancer `json:"load_balancers"`
	}
	balancerAnswer struct {
		LoadBalancer godo.LoadBalancer `json:"load_balancer"`
	}
	firewallsAnswer struct {
		Firewalls []godo.Firewall `json:"firewalls"`
	}
	firewallAnswer struct {
		Firewall godo.Firewall `json:"firewall"`
	}
	tagsAnswer struct {
		Tags []godo.Tag `json:"tags"`
	}
	tagAnswer struct {
		Tag godo.Tag `json:"tag"`
	}
	// dropletIDs is the body of a request that adds droplets to a load balancer, or removes them.
	dropletIDs struct {
		DropletIDs []int `json:"droplet_ids"`
	}
	// errorAnswer is godo.ErrorResponse without its own notes, and with the id that DigitalOcean documents.
	errorAnswer struct {
		ID        string `json:"id"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}
)

// probeAPI returns the API with the operations of DigitalOcean's client that the product uses.
func probeAPI() (judge.API, error) {
	api := judge.API{
		Vendor: "DigitalOcean",
		Base:   "/v2",
		Placeholders: []judge.Placeholder{
			{Name: "{id}", Probed: strconv.Itoa(anyID), Pattern: regexp.MustCompile(`^[1-9]\d{0,18}$`)},
			{Name: "{uuid}", Probed: anyUUID, Pattern: regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)},
			// As tags are named.
			{Name: "{name}", Probed: anyName, Pattern: regexp.MustCompile(`^[\w:-]{1,255}$`)},
		},
		Numbers: []string{"page", "per_page"},
		Error:   reflect.TypeFor[errorAnswer](),
		Rules:   rules,
	}
	return api.Probe([]judge.Probe{
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Account.Get(ctx) }),
			Answer: []any{accountAnswer{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Actions.List(ctx, page) }),
			Answer: []any{actionsAnswer{}, pages{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Regions.List(ctx, page) }),
			Answer: []any{regionsAnswer{}, pages{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Certificates.ListByName(ctx, anyName, page) }),
			Answer: []any{certificatesAnswer{}, pages{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Certificates.Get(ctx, anyUUID) }),
			Answer: []any{certificateAnswer{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Droplets.ListByTag(ctx, anyName, page) }),
			Answer: []any{dropletsAnswer{}, pages{}},
		},
		{Send: probe(func(client *godo.Client) { _, _, _ = client.Droplets.ListByName(ctx, anyName, page) })},
		{Send: probe(func(client *godo.Client) { _, _, _ = client.Droplets.ListWithGPUs(ctx, page) })},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Droplets.Get(ctx, anyID) }),
			Answer: []any{dropletAnswer{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.LoadBalancers.List(ctx, page) }),
			Answer: []any{balancersAnswer{}, pages{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.LoadBalancers.Get(ctx, anyUUID) }),
			Answer: []any{balancerAnswer{}},
		},
		{
			Send: probe(func(client *godo.Client) {
				_, _, _ = client.LoadBalancers.Create(ctx, &godo.LoadBalancerRequest{})
			}),
			Request: godo.LoadBalancerRequest{},
			Answer:  []any{balancerAnswer{}},
		},
		{
			Send: probe(func(client *godo.Client) {
				_, _, _ = client.LoadBalancers.Update(ctx, anyUUID, &godo.LoadBalancerRequest{})
			}),
			Request: godo.LoadBalancerRequest{},
			Answer:  []any{balancerAnswer{}},
		},
		{Send: probe(func(client *godo.Client) { _, _ = client.LoadBalancers.Delete(ctx, anyUUID) })},
		{
			Send:    probe(func(client *godo.Client) { _, _ = client.LoadBalancers.AddDroplets(ctx, anyUUID, anyID) }),
			Request: dropletIDs{},
		},
		{
			Send:    probe(func(client *godo.Client) { _, _ = client.LoadBalancers.RemoveDroplets(ctx, anyUUID, anyID) }),
			Request: dropletIDs{},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Firewalls.List(ctx, page) }),
			Answer: []any{firewallsAnswer{}, pages{}},
		},
		{
			Send:    probe(func(client *godo.Client) { _, _, _ = client.Firewalls.Create(ctx, &godo.FirewallRequest{}) }),
			Request: godo.FirewallRequest{},
			Answer:  []any{firewallAnswer{}},
		},
		{
			Send: probe(func(client *godo.Client) {
				_, _, _ = client.Firewalls.Update(ctx, anyUUID, &godo.FirewallRequest{})
			}),
			Request: godo.FirewallRequest{},
			Answer:  []any{firewallAnswer{}},
		},
		{
			Send:   probe(func(client *godo.Client) { _, _, _ = client.Tags.List(ctx, page) }),
			Answer: []any{tagsAnswer{}, pages{}},
		},
		{
			Send:    probe(func(client *godo.Client) { _, _, _ = client.Tags.Create(ctx, &godo.TagCreateRequest{}) }),
			Request: godo.TagCreateRequest{},
			Answer:  []any{tagAnswer{}},
		},
		{Send: probe(func(client *godo.Client) { _, _ = client.Tags.Delete(ctx, anyName) })},
		{
			Send: probe(func(client *godo.Client) {
				_, _ = client.Tags.TagResources(ctx, anyName, &godo.TagResourcesRequest{Resources: anyResources})
			}),
			Request: godo.TagResourcesRequest{},
		},
		{
			Send: probe(func(client *godo.Client) {
				_, _ = client.Tags.UntagResources(ctx, anyName, &godo.UntagResourcesRequest{Resources: anyResources})
			}),
			Request: godo.UntagResourcesRequest{},
		},
	})
}

var (
	ctx          = context.Background()
	page         = &godo.ListOptions{Page: 2, PerPage: 50}
	anyResources = []godo.Resource{{ID: anyUUID, Type: godo.LoadBalancerResourceType}}
)

func probe(call func(*godo.Client)) func(*http.Client) {
	return func(transport *http.Client) {
		client, err := godo.New(transport, godo.SetBaseURL(judge.ProbeURL))
		if err == nil {
			call(client)
		}
	}
}
