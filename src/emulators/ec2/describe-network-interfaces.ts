import type { Action } from "./action.ts";
import { createFault, isFault } from "./fault.ts";
import { createFilter, type Fields, readFilters } from "./filters.ts";
import type { NetworkInterface } from "./instance.ts";
import { type PageRules, readPage, takePage } from "./paging.ts";
import { renderNetworkInterface } from "./render-instance.ts";
import { renderItems } from "./xml.ts";

/** The filters of DescribeNetworkInterfaces, under EC2's names. */
export const INTERFACE_FIELDS: Fields<NetworkInterface> = {
  byName: {
    "network-interface-id": ({ id }) => [id],
    status: ({ status }) => [status],
    "vpc-id": ({ vpcId }) => [vpcId],
    "subnet-id": ({ subnetId }) => [subnetId],
    "availability-zone": ({ availabilityZone }) => [availabilityZone],
    "owner-id": ({ ownerId }) => [ownerId],
    "private-dns-name": ({ privateDnsName }) => [privateDnsName],
    // With this name EC2 checks the primary address as well as the others.
    "private-ip-address": ({ privateIpAddresses }) => privateIpAddresses,
    "addresses.private-ip-address": ({ privateIpAddresses }) => privateIpAddresses,
    "ipv6-addresses.ipv6-address": ({ ipv6Addresses }) => ipv6Addresses,
    "attachment.status": ({ attachment }) => [attachment.status],
    "attachment.instance-id": ({ attachment }) => [attachment.instanceId],
    "attachment.instance-owner-id": ({ attachment }) => [attachment.instanceOwnerId],
    "attachment.device-index": ({ attachment }) => [attachment.deviceIndex.toString()],
  },
  tags: ({ tags }) => tags,
};

const PAGES: PageRules = { min: 5, max: 1000, usual: 1000, idSet: "networkInterfaceIdSet" };

/** Returns network interfaces of instances, by IDs or filters, in pages. */
export const describeNetworkInterfaces: Action = ({ parameters, inventory, caller, now }) => {
  const ids = new Set(parameters.list("NetworkInterfaceId"));
  const page = readPage(parameters, PAGES, ids.size > 0);
  if (isFault(page)) return page;
  const filters = readFilters(parameters, INTERFACE_FIELDS);
  if (isFault(filters)) return filters;
  const all = inventory.networkInterfaces(caller.account, now);
  const known = new Set(all.map(({ value }) => value.id));
  const missing = [...ids].filter((id) => !known.has(id));
  if (missing.length > 0) {
    const message = `The networkInterface ID '${missing.join(", ")}' does not exist`;
    return createFault("InvalidNetworkInterfaceID.NotFound", message);
  }
  const passes = createFilter(filters, INTERFACE_FIELDS);
  const { values, nextToken } = takePage(
    all.filter(({ value }) => (ids.size === 0 || ids.has(value.id)) && passes(value)),
    page,
  );
  return {
    kind: "answer",
    content: { networkInterfaceSet: renderItems(values, renderNetworkInterface), nextToken },
    results: values.length,
  };
};
