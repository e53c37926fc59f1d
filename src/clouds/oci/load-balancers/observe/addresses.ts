import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { IPV6_LABEL } from "#clouds/oci/config.ts";
import type { ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import type { InstanceAddresses } from "#clouds/oci/load-balancers/state.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Instance } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { type CloudUsage, NO_CLOUD_USAGE } from "#core/report.ts";

/**
 * The instance requests of a cloud: they check that instances belong to the cluster, with one call per page.
 */
export type ReadInstances = Cloud["instances"];

/**
 * Finds the addresses of the instances of all Services in a batch; foreign and deleted instances are left
 * out.
 */
export async function findAddresses(
  queries: readonly ServiceQuery[],
  instances: ReadInstances,
  call: CloudCall,
): Promise<{
  readonly addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>;
  readonly usage: CloudUsage;
}> {
  const ids = [...new Set(queries.flatMap((each) => each.instances))];
  if (ids.length === 0) return { addresses: ok({}), usage: NO_CLOUD_USAGE };
  const needsIPv6 = queries.some((each) => each.needsIPv6);
  const { answers, usage } = await instances(
    ids.map((id) => buildNode(id, needsIPv6)),
    call,
  );
  const addresses: Record<string, InstanceAddresses> = {};
  for (const [index, id] of ids.entries()) {
    const answer = answers[index];
    if (answer?.kind === "found" && !ENDED.has(answer.instance.state))
      addresses[id] = selectAddresses(answer.instance);
    if (answer?.kind !== "error" || NODE_ERRORS.has(answer.code)) continue;
    return { addresses: fault(answer.code, answer.message), usage };
  }
  return { addresses: ok(addresses), usage };
}

const ENDED: ReadonlySet<string> = new Set<Instance["state"]>(["shutting-down", "terminated"]);

/** Faults of one node, which is then no target; other faults concern the account, and nothing is known. */
const NODE_ERRORS: ReadonlySet<string> = new Set([
  "Foreign",
  "Ambiguous",
  "ForeignProviderID",
  "InvalidProviderID",
]);

/** Builds a node with the fields by which its instance is found. */
function buildNode(id: string, needsIPv6: boolean): Node {
  return {
    metadata: {
      ...{ name: id, uid: id.slice(0, 128), resourceVersion: "1", creationTimestamp: "1970-01-01T00:00:00Z" },
      ...(needsIPv6 ? { labels: { [IPV6_LABEL]: "" } } : {}),
    },
    spec: { providerID: `oci://${id}` },
    status: {},
  };
}

/** InternalIP comes first; for IPv6 the first available one is used. */
function selectAddresses({ addresses }: Instance): InstanceAddresses {
  const listOfType = (requested: string): readonly string[] =>
    addresses.flatMap(({ type, address }) => (type === requested ? address : []));
  const internal = listOfType("InternalIP");
  const ipv4 = internal.find((address) => !address.includes(":"));
  const ipv6 = [...internal, ...listOfType("ExternalIP")].find((address) => address.includes(":"));
  return { ...(ipv4 === undefined ? {} : { ipv4 }), ...(ipv6 === undefined ? {} : { ipv6 }) };
}
