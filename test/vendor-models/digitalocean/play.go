package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/digitalocean/godo"
)

// understood is what DigitalOcean's client understood of the answers.
type understood struct {
	Account      string     `json:"account"`
	Regions      []string   `json:"regions"`
	Destroyed    []int      `json:"destroyed"`
	Droplets     []droplet  `json:"droplets"`
	Single       []droplet  `json:"single"`
	Gone         int        `json:"gone"`
	Refused      int        `json:"refused"`
	Remaining    int        `json:"remaining"`
	Certificates []string   `json:"certificates"`
	Balancers    []balancer `json:"balancers"`
	Tags         []string   `json:"tags"`
	Firewalls    []firewall `json:"firewalls"`
}

type droplet struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Size    string   `json:"size"`
	Region  string   `json:"region"`
	VPC     string   `json:"vpc"`
	Public  string   `json:"public"`
	Private string   `json:"private"`
	Tags    []string `json:"tags"`
}

// balancer is a load balancer after one change.
type balancer struct {
	After    string   `json:"after"`
	Status   string   `json:"status"`
	IP       string   `json:"ip"`
	Droplets int      `json:"droplets"`
	Ports    []int    `json:"ports"`
	Tags     []string `json:"tags"`
}

type firewall struct {
	Name  string   `json:"name"`
	Ports []string `json:"ports"`
	Tags  []string `json:"tags"`
}

// playCloud does on an emulated API all that the product does, with DigitalOcean's client, and prints what the
// client understood.
func playCloud(out io.Writer, endpoint, token, tag string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := connect(endpoint, token)
	if err != nil {
		return err
	}
	result := understood{}
	for _, step := range []struct {
		name string
		play func(context.Context, *godo.Client, *understood) error
	}{
		{"read the account", readAccount},
		{"read droplets", func(ctx context.Context, client *godo.Client, result *understood) error {
			return readDroplets(ctx, client, tag, result)
		}},
		{"change a load balancer", changeBalancer},
		{"change a firewall", changeFirewall},
	} {
		if err := step.play(ctx, client, &result); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	refused, err := connect(endpoint, token+"0")
	if err != nil {
		return err
	}
	_, _, err = refused.Account.Get(ctx)
	result.Refused = statusOf(err)
	return json.NewEncoder(out).Encode(result)
}

func connect(endpoint, token string) (*godo.Client, error) {
	transport := &http.Client{Transport: authorized(token)}
	return godo.New(transport, godo.SetBaseURL(endpoint))
}

// authorized is a token that each request carries.
type authorized string

func (token authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}

// statusOf returns the status of an error answer that the client understood; 0 of any other error.
func statusOf(err error) int {
	var answer *godo.ErrorResponse
	if errors.As(err, &answer) && answer.Message != "" {
		return answer.Response.StatusCode
	}
	return 0
}

func readAccount(ctx context.Context, client *godo.Client, result *understood) error {
	account, answer, err := client.Account.Get(ctx)
	if err != nil {
		return err
	}
	result.Account, result.Remaining = account.Status, answer.Rate.Remaining
	regions, _, err := client.Regions.List(ctx, &godo.ListOptions{PerPage: 200})
	if err != nil {
		return err
	}
	for _, each := range regions {
		result.Regions = append(result.Regions, each.Slug)
	}
	actions, _, err := client.Actions.List(ctx, &godo.ListOptions{Page: 1, PerPage: 200})
	if err != nil {
		return err
	}
	for _, each := range actions {
		if each.Type == "destroy" && each.ResourceType == "droplet" && each.Status == godo.ActionCompleted {
			result.Destroyed = append(result.Destroyed, each.ResourceID)
		}
	}
	certificates, _, err := client.Certificates.List(ctx, &godo.ListOptions{})
	if err != nil {
		return err
	}
	for _, each := range certificates {
		one, _, err := client.Certificates.Get(ctx, each.ID)
		if err != nil {
			return err
		}
		named, _, err := client.Certificates.ListByName(ctx, one.Name, &godo.ListOptions{Page: 1, PerPage: 20})
		if err != nil || len(named) != 1 {
			return fmt.Errorf("%d certificates are named %s: %w", len(named), one.Name, err)
		}
		result.Certificates = append(result.Certificates, one.Name+" "+one.State)
	}
	return nil
}

// readDroplets reads two pages of one droplet each, and then each droplet.
func readDroplets(ctx context.Context, client *godo.Client, tag string, result *understood) error {
	opts := &godo.ListOptions{Page: 1, PerPage: 1}
	for {
		droplets, answer, err := client.Droplets.ListByTag(ctx, tag, opts)
		if err != nil {
			return err
		}
		for _, each := range droplets {
			result.Droplets = append(result.Droplets, toDroplet(each))
			one, _, err := client.Droplets.Get(ctx, each.ID)
			if err != nil {
				return err
			}
			result.Single = append(result.Single, toDroplet(*one))
		}
		if answer.Links == nil || answer.Links.IsLastPage() {
			break
		}
		opts.Page++
	}
	gpus, _, err := client.Droplets.ListWithGPUs(ctx, &godo.ListOptions{Page: 1, PerPage: 200})
	if err != nil {
		return err
	}
	for _, each := range gpus {
		result.Droplets = append(result.Droplets, toDroplet(each))
	}
	_, _, err = client.Droplets.Get(ctx, 1)
	result.Gone = statusOf(err)
	return nil
}

func toDroplet(each godo.Droplet) droplet {
	public, _ := each.PublicIPv4()
	private, _ := each.PrivateIPv4()
	return droplet{
		ID: each.ID, Name: each.Name, Status: each.Status, Size: each.SizeSlug, Region: each.Region.Slug,
		VPC: each.VPCUUID, Public: public, Private: private, Tags: each.Tags,
	}
}

// changeBalancer creates a load balancer for the first two droplets, changes all that the product changes, and
// deletes it.
func changeBalancer(ctx context.Context, client *godo.Client, result *understood) error {
	first, second := result.Droplets[0], result.Droplets[1]
	if _, _, err := client.Tags.Create(ctx, &godo.TagCreateRequest{Name: "k8s:played"}); err != nil {
		return err
	}
	body := &godo.LoadBalancerRequest{
		Name:       "played",
		Region:     first.Region,
		VPCUUID:    first.VPC,
		Type:       godo.LoadBalancerTypeRegional,
		DropletIDs: []int{first.ID},
		ForwardingRules: []godo.ForwardingRule{
			{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080},
		},
		HealthCheck: &godo.HealthCheck{
			Protocol: "http", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5,
			UnhealthyThreshold: 3, HealthyThreshold: 5,
		},
		StickySessions: &godo.StickySessions{Type: "none"},
		Firewall:       &godo.LBFirewall{Deny: []string{godo.CIDRSourceFirewall("192.0.2.0/24")}},
	}
	made, _, err := client.LoadBalancers.Create(ctx, body)
	if err != nil {
		return err
	}
	note := func(after string) error {
		each, _, err := client.LoadBalancers.Get(ctx, made.ID)
		if err != nil {
			return fmt.Errorf("get after %s: %w", after, err)
		}
		ports := []int{}
		for _, rule := range each.ForwardingRules {
			ports = append(ports, rule.EntryPort)
		}
		result.Balancers = append(result.Balancers, balancer{after, each.Status, each.IP, len(each.DropletIDs), ports, each.Tags})
		return nil
	}
	resources := []godo.Resource{{ID: made.ID, Type: godo.LoadBalancerResourceType}}
	changed := *body
	changed.ForwardingRules = append(changed.ForwardingRules,
		godo.ForwardingRule{EntryProtocol: "udp", EntryPort: 53, TargetProtocol: "udp", TargetPort: 30053})
	for _, change := range []struct {
		name string
		send func() error
	}{
		{"create", func() error { return nil }},
		{"a read", func() error { return nil }},
		{"update", func() error { _, _, err := client.LoadBalancers.Update(ctx, made.ID, &changed); return err }},
		{"add", func() error { _, err := client.LoadBalancers.AddDroplets(ctx, made.ID, second.ID); return err }},
		{"remove", func() error { _, err := client.LoadBalancers.RemoveDroplets(ctx, made.ID, first.ID); return err }},
		{"tag", func() error {
			_, err := client.Tags.TagResources(ctx, "k8s:played", &godo.TagResourcesRequest{Resources: resources})
			return err
		}},
		{"untag", func() error {
			_, err := client.Tags.UntagResources(ctx, "k8s:played", &godo.UntagResourcesRequest{Resources: resources})
			return err
		}},
	} {
		if err := change.send(); err != nil {
			return fmt.Errorf("%s: %w", change.name, err)
		}
		if err := note(change.name); err != nil {
			return err
		}
	}
	listed, _, err := client.LoadBalancers.List(ctx, &godo.ListOptions{Page: 1, PerPage: 200})
	if err != nil || len(listed) != 1 || listed[0].ID != made.ID {
		return fmt.Errorf("the list has %d load balancers: %w", len(listed), err)
	}
	tags, _, err := client.Tags.List(ctx, &godo.ListOptions{})
	if err != nil {
		return err
	}
	for _, each := range tags {
		result.Tags = append(result.Tags, each.Name)
	}
	if _, err := client.Tags.Delete(ctx, "k8s:played"); err != nil {
		return err
	}
	if _, err := client.LoadBalancers.Delete(ctx, made.ID); err != nil {
		return err
	}
	if _, _, err := client.LoadBalancers.Get(ctx, made.ID); statusOf(err) != http.StatusNotFound {
		return fmt.Errorf("a deleted load balancer: %w", err)
	}
	return nil
}

func changeFirewall(ctx context.Context, client *godo.Client, result *understood) error {
	body := &godo.FirewallRequest{
		Name: "played",
		Tags: []string{"k8s-played"},
		InboundRules: []godo.InboundRule{
			{Protocol: "tcp", PortRange: "30000-32767", Sources: &godo.Sources{Addresses: []string{"192.0.2.0/24"}}},
		},
		OutboundRules: []godo.OutboundRule{
			{Protocol: "tcp", PortRange: "all", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0", "::/0"}}},
		},
	}
	made, _, err := client.Firewalls.Create(ctx, body)
	if err != nil {
		return err
	}
	body.InboundRules[0].PortRange = "30080"
	if _, _, err := client.Firewalls.Update(ctx, made.ID, body); err != nil {
		return err
	}
	firewalls, _, err := client.Firewalls.List(ctx, &godo.ListOptions{Page: 1, PerPage: 200})
	if err != nil {
		return err
	}
	for _, each := range firewalls {
		ports := []string{}
		for _, rule := range each.InboundRules {
			ports = append(ports, "in "+rule.PortRange)
		}
		for _, rule := range each.OutboundRules {
			ports = append(ports, "out "+rule.PortRange)
		}
		result.Firewalls = append(result.Firewalls, firewall{each.Name, ports, each.Tags})
	}
	return nil
}
