package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// server is what Hetzner's client understood of a server.
type server struct {
	ID       int64             `json:"id"`
	Name     string            `json:"name"`
	Status   string            `json:"status"`
	Type     string            `json:"type"`
	Location string            `json:"location"`
	IPv4     string            `json:"ipv4"`
	IPv6     string            `json:"ipv6"`
	Private  map[int64]string  `json:"private"`
	Labels   map[string]string `json:"labels"`
}

// readCloud asks an emulated API everything that the product asks, with Hetzner's client, and prints what the
// client understood.
func readCloud(out io.Writer, endpoint, token, selector string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := hcloud.NewClient(hcloud.WithEndpoint(endpoint), hcloud.WithToken(token))
	listed, err := client.Server.AllWithOpts(ctx, hcloud.ServerListOpts{
		ListOpts: hcloud.ListOpts{LabelSelector: selector, PerPage: 2},
		Sort:     []string{"id:asc"},
	})
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	servers, single := []server{}, []server{}
	for _, each := range listed {
		servers = append(servers, toServer(each))
		one, _, err := client.Server.GetByID(ctx, each.ID)
		if err != nil || one == nil {
			return fmt.Errorf("get server %d: %v, %w", each.ID, one, err)
		}
		single = append(single, toServer(one))
	}
	missing, _, err := client.Server.GetByID(ctx, 1)
	if err != nil {
		return fmt.Errorf("get a missing server: %w", err)
	}
	networks, err := client.Network.All(ctx)
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	named := map[string]int64{}
	for _, each := range networks {
		named[each.Name] = each.ID
	}
	actions, _, err := client.Server.Action.List(ctx, hcloud.ActionListOpts{
		ListOpts: hcloud.ListOpts{Page: 1, PerPage: 50},
		Sort:     []string{"id:desc"},
	})
	if err != nil {
		return fmt.Errorf("list actions of servers: %w", err)
	}
	deleted := []int64{}
	for _, each := range actions {
		for _, resource := range each.Resources {
			isServer := resource.Type == hcloud.ActionResourceTypeServer
			if isServer && each.Command == "delete_server" && each.Status == hcloud.ActionStatusSuccess {
				deleted = append(deleted, resource.ID)
			}
		}
	}
	refused := hcloud.NewClient(hcloud.WithEndpoint(endpoint), hcloud.WithToken(token+"0"))
	_, _, err = refused.Server.List(ctx, hcloud.ServerListOpts{})
	return json.NewEncoder(out).Encode(map[string]any{
		"servers": servers, "single": single, "missing": missing == nil, "networks": named, "deleted": deleted,
		"refused": hcloud.IsError(err, hcloud.ErrorCodeUnauthorized),
	})
}

func toServer(each *hcloud.Server) server {
	private := map[int64]string{}
	for _, attached := range each.PrivateNet {
		private[attached.Network.ID] = attached.IP.String()
	}
	read := server{
		ID: each.ID, Name: each.Name, Status: string(each.Status), Type: each.ServerType.Name,
		Location: each.Location.Name, Private: private, Labels: each.Labels,
	}
	if !each.PublicNet.IPv4.IsUnspecified() {
		read.IPv4 = each.PublicNet.IPv4.IP.String()
	}
	if !each.PublicNet.IPv6.IsUnspecified() {
		read.IPv6 = each.PublicNet.IPv6.Network.String()
	}
	return read
}
