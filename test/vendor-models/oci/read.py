"""Reads an emulated Oracle Cloud with Oracle's own client, which also signs the requests, and prints what the client
understood. The standard input has user, tenancy, fingerprint, key, compartment and region as JSON."""

import json
import sys

import oci


def read_cloud(url):
    given = json.load(sys.stdin)
    config = {
        "user": given["user"],
        "tenancy": given["tenancy"],
        "fingerprint": given["fingerprint"],
        "key_content": given["key"],
        "region": given["region"],
    }
    options = {"service_endpoint": url, "timeout": 10, "retry_strategy": oci.retry.NoneRetryStrategy()}
    compute = oci.core.ComputeClient(config, **options)
    network = oci.core.VirtualNetworkClient(config, **options)
    lb = oci.load_balancer.LoadBalancerClient(config, **options)
    nlb = oci.network_load_balancer.NetworkLoadBalancerClient(config, **options)
    compartment = given["compartment"]
    list_all = oci.pagination.list_call_get_all_results
    attachments = list_all(compute.list_vnic_attachments, compartment).data
    vnics = [network.get_vnic(each.vnic_id).data for each in attachments]
    groups = list_all(network.list_network_security_groups, compartment_id=compartment).data
    balancers = [lb.get_load_balancer(each.id).data for each in list_all(lb.list_load_balancers, compartment).data]
    summaries = list_all(nlb.list_network_load_balancers, compartment).data
    # The client's lists of network load balancers are collections.
    networks = [nlb.get_network_load_balancer(each.id).data for each in summaries]
    print(
        json.dumps(
            {
                "instances": [
                    [each.display_name, each.lifecycle_state, each.shape, each.region]
                    for each in list_all(compute.list_instances, compartment).data
                ],
                "vnics": [[each.private_ip, each.is_primary] for each in vnics],
                "groups": {
                    each.display_name: [
                        [rule.direction, rule.protocol]
                        for rule in list_all(
                            network.list_network_security_group_security_rules, each.id
                        ).data
                    ]
                    for each in groups
                },
                "balancers": [describe(each) for each in balancers],
                "networks": [describe(each) for each in networks],
                "missing": is_missing(compute),
            }
        )
    )


def describe(balancer):
    return {
        "name": balancer.display_name,
        "state": balancer.lifecycle_state,
        "addresses": [[each.ip_address, each.is_public] for each in balancer.ip_addresses],
        "backends": {
            name: [f"{each.ip_address}:{each.port}" for each in found.backends]
            for name, found in balancer.backend_sets.items()
        },
        "listeners": {name: [each.protocol, each.port] for name, each in balancer.listeners.items()},
        "tags": balancer.freeform_tags,
    }


def is_missing(compute):
    try:
        compute.get_instance("ocid1.instance.oc1.phx.missing")
    except oci.exceptions.ServiceError as error:
        return [error.status, error.code]
    return None
