package main

import (
	"github.com/digitalocean/godo"

	"serverless-ccm.test/vendor-models/judge"
)

var rules = judge.Rules{
	// The client always sends the ids of a firewall's droplets, as null if it has none: they do not matter to a
	// firewall by tags. The request's id is in most errors.
	Optional: []string{"FirewallRequest.droplet_ids", "errorAnswer.request_id"},
	Values: map[string][]string{
		"LoadBalancer.type":                     balancerTypes,
		"LoadBalancerRequest.type":              balancerTypes,
		"LoadBalancer.network":                  balancerNetworks,
		"LoadBalancerRequest.network":           balancerNetworks,
		"LoadBalancer.network_stack":            balancerStacks,
		"LoadBalancerRequest.network_stack":     balancerStacks,
		"LoadBalancer.tls_cipher_policy":        cipherPolicies,
		"LoadBalancerRequest.tls_cipher_policy": cipherPolicies,
		"Action.status":                         {godo.ActionInProgress, godo.ActionCompleted},
		"Resource.resource_type":                {string(godo.LoadBalancerResourceType), string(godo.DropletResourceType)},
	},
}

var (
	balancerTypes = []string{
		godo.LoadBalancerTypeGlobal, godo.LoadBalancerTypeRegional, godo.LoadBalancerTypeRegionalNetwork,
	}
	balancerNetworks = []string{godo.LoadBalancerNetworkTypeExternal, godo.LoadBalancerNetworkTypeInternal}
	balancerStacks   = []string{godo.LoadBalancerNetworkStackIPv4, godo.LoadBalancerNetworkStackDualstack}
	cipherPolicies   = []string{godo.LoadBalancerTLSCipherPolicyDefault, godo.LoadBalancerTLSCipherPolicyStrong}
)
