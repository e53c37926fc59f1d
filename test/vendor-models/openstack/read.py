"""Reads emulated Keystone, Nova and Neutron with OpenStack's own client, and prints what the client understood."""

import json

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3
from openstack import connection
from openstack import exceptions as sdk_exceptions

MISSING = "00000000-0000-4000-8000-000000000000"


def read_cloud(auth_url, region, credential, secret, tag, project):
    auth = v3.ApplicationCredential(
        auth_url, application_credential_id=credential, application_credential_secret=secret
    )
    signed_in = session.Session(auth=auth, timeout=10)
    place = {"region_name": region, "interface": "public"}
    # Without these the client would look for the services' versions, which the product does not do.
    client = connection.Connection(
        session=signed_in,
        region_name=region,
        compute_endpoint_override=signed_in.get_endpoint(service_type="compute", **place),
        compute_default_microversion="2.47",
        network_endpoint_override=signed_in.get_endpoint(service_type="network", **place).rstrip("/") + "/v2.0",
    )
    nova, neutron = client.compute, client.network
    listed = [describe_server(each) for each in nova.servers(details=True, limit=2, tags=tag)]
    ports = neutron.ports(project_id=project, limit=2)
    print(
        json.dumps(
            {
                "project": auth.get_access(signed_in).project_id,
                "servers": listed,
                "single": [describe_server(nova.get_server(each["id"])) for each in listed],
                "missing": is_missing(nova),
                "ports": [describe_port(each) for each in ports],
                "networks": {each.name: each.id for each in neutron.networks()},
                "refused": is_refused(auth_url, credential, secret + "0"),
            }
        )
    )


def describe_server(server):
    addresses = [
        [address["OS-EXT-IPS:type"], address["addr"]]
        for each in server.addresses.values()
        for address in each
    ]
    return {
        "id": server.id,
        "name": server.name,
        "status": server.status,
        "project": server.project_id,
        "flavor": server.flavor.original_name,
        "zone": server.availability_zone,
        "metadata": server.metadata,
        "tags": server.tags,
        "addresses": addresses,
    }


def describe_port(port):
    return {
        "server": port.device_id,
        "owner": port.device_owner,
        "network": port.network_id,
        "status": port.status,
        "addresses": [each["ip_address"] for each in port.fixed_ips],
    }


def is_missing(nova):
    try:
        nova.get_server(MISSING)
    except sdk_exceptions.NotFoundException:
        return True
    return False


def is_refused(auth_url, credential, secret):
    auth = v3.ApplicationCredential(
        auth_url, application_credential_id=credential, application_credential_secret=secret
    )
    try:
        session.Session(auth=auth).get_token()
    except exceptions.Unauthorized:
        return True
    return False
