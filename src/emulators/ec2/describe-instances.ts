import type { Action, Call } from "./action.ts";
import { type Fault, isFault } from "./fault.ts";
import { createFilter, type Fields, type Filter, getLiteralValues, readFilters } from "./filters.ts";
import type { Ec2Instance } from "./instance.ts";
import { findInstancesById } from "./instance-ids.ts";
import type { IndexName, Listed } from "./inventory.ts";
import { type PageRules, readPage, takePage } from "./paging.ts";
import { renderReservation } from "./render-instance.ts";
import { renderItems } from "./xml.ts";

/** The filters of DescribeInstances, under EC2's names. */
export const INSTANCE_FIELDS: Fields<Ec2Instance> = {
  byName: {
    "instance-id": ({ id }) => [id],
    "private-dns-name": ({ privateDnsName }) => [privateDnsName],
    "private-ip-address": ({ privateIpAddress }) => [privateIpAddress],
    "ip-address": ({ publicIpAddress }) => [publicIpAddress],
    "dns-name": ({ publicDnsName }) => [publicDnsName],
    "network-interface.addresses.private-ip-address": ({ networkInterfaces }) =>
      networkInterfaces.flatMap(({ privateIpAddresses }) => privateIpAddresses),
    "network-interface.ipv6-addresses.ipv6-address": ({ networkInterfaces }) =>
      networkInterfaces.flatMap(({ ipv6Addresses }) => ipv6Addresses),
    "network-interface.network-interface-id": ({ networkInterfaces }) =>
      networkInterfaces.map(({ id }) => id),
    "vpc-id": ({ vpcId }) => [vpcId],
    "subnet-id": ({ subnetId }) => [subnetId],
    "availability-zone": ({ availabilityZone }) => [availabilityZone],
    "instance-type": ({ instanceType }) => [instanceType],
    "instance-state-name": ({ state }) => [state],
    "launch-time": ({ launchedAt }) => [new Date(launchedAt).toISOString()],
    "owner-id": ({ ownerId }) => [ownerId],
  },
  tags: ({ tags }) => tags,
};

/** Without MaxResults accounts made since the middle of 2025 get pages of 1,000 too. */
const PAGES: PageRules = { min: 5, max: 1000, usual: 1000, idSet: "instancesSet" };

/** Filters that an index answers. */
const INDEXES: Readonly<Record<string, IndexName>> = {
  "instance-id": "id",
  "private-dns-name": "private-dns-name",
  "private-ip-address": "private-ip-address",
  "network-interface.addresses.private-ip-address": "private-ip-address",
};

/** Returns reservations of one instance each, by IDs or filters, in pages. */
export const describeInstances: Action = (call) => {
  const ids = call.parameters.list("InstanceId");
  const page = readPage(call.parameters, PAGES, ids.length > 0);
  if (isFault(page)) return page;
  const filters = readFilters(call.parameters, INSTANCE_FIELDS);
  if (isFault(filters)) return filters;
  const candidates = findCandidates(call, ids, filters);
  if (isFault(candidates)) return candidates;
  const passes = createFilter(filters, INSTANCE_FIELDS);
  const { values, nextToken } = takePage(
    candidates.filter(({ value }) => passes(value)),
    page,
  );
  return {
    kind: "answer",
    content: {
      reservationSet: renderItems(values, renderReservation),
      nextToken,
    },
    results: values.length,
  };
};

function findCandidates(
  { inventory, caller, now }: Call,
  ids: readonly string[],
  filters: readonly Filter[],
): readonly Listed<Ec2Instance>[] | Fault {
  if (ids.length > 0) return findInstancesById(ids, inventory, caller.account, now);
  for (const [filter, index] of Object.entries(INDEXES)) {
    const values = getLiteralValues(filters, filter);
    if (values !== undefined) return inventory.find(caller.account, index, values, now);
  }
  return inventory.all(caller.account, now);
}
