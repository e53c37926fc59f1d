import type { Action } from "./action.ts";
import { createFault, isFault } from "./fault.ts";
import { createFilter, type Fields, readFilters } from "./filters.ts";
import type { Ec2Instance } from "./instance.ts";
import { findInstancesById } from "./instance-ids.ts";
import { type PageRules, readPage, takePage } from "./paging.ts";
import { renderItems } from "./xml.ts";

const TOPOLOGY_FIELDS: Fields<Ec2Instance> = {
  byName: {
    "availability-zone": ({ availabilityZone }) => [availabilityZone],
    "instance-type": ({ instanceType }) => [instanceType],
    "zone-id": ({ availabilityZoneId }) => [availabilityZoneId],
  },
};

/** The maximum of IDs in a call of DescribeInstanceTopology. */
const MAX_IDS = 100;

const PAGES: PageRules = { min: 1, max: 100, usual: 20, idSet: "instanceIdSet" };

/**
 * Returns the place of instances in the network, without those of a type without topology and those not
 * running.
 */
export const describeInstanceTopology: Action = ({ parameters, inventory, caller, now }) => {
  const ids = parameters.list("InstanceId");
  if (ids.length > MAX_IDS) {
    const message = `The maximum number of instance IDs is ${MAX_IDS}, and the request has ${ids.length}`;
    return createFault("InvalidParameterValue", message);
  }
  const page = readPage(parameters, PAGES, ids.length > 0);
  if (isFault(page)) return page;
  const filters = readFilters(parameters, TOPOLOGY_FIELDS);
  if (isFault(filters)) return filters;
  const candidates =
    ids.length > 0
      ? findInstancesById(ids, inventory, caller.account, now)
      : inventory.all(caller.account, now);
  if (isFault(candidates)) return candidates;
  const passes = createFilter(filters, TOPOLOGY_FIELDS);
  const { values, nextToken } = takePage(
    candidates.filter(
      ({ value }) => value.networkNodes !== undefined && value.state === "running" && passes(value),
    ),
    page,
  );
  return {
    kind: "answer",
    content: {
      instanceSet: renderItems(values, (instance) => ({
        instanceId: instance.id,
        instanceType: instance.instanceType,
        availabilityZone: instance.availabilityZone,
        zoneId: instance.availabilityZoneId,
        networkNodeSet: renderItems(instance.networkNodes ?? [], (node) => node),
      })),
      nextToken,
    },
    results: values.length,
  };
};
