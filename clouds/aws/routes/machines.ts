import type { Instance, InstanceNetworkInterface } from "@aws-sdk/client-ec2";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  splitIntoChunks,
} from "#clouds/aws/describe-instances.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import { isLive } from "#clouds/aws/live-filters.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance, isForgotten } from "#clouds/aws/resolution.ts";
import type { AwsTarget } from "#clouds/aws/routes/requests.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Machine } from "#core/route/state.ts";

/** EC2's answers about instances. */
export interface Machines {
  /** By the id of an instance or of one of its network interfaces; undefined if it does not exist. */
  get(id: string): FoundInstance | undefined;
  /** The fault if the instance is unknown. */
  getFault(id: string): Fault | undefined;
}

/** Reads instances by their ids and by those of their interfaces; missing ones are allowed. */
export async function findMachines(
  session: Session,
  instances: ReadonlySet<string>,
  interfaces: ReadonlySet<string>,
): Promise<Machines> {
  const found = new Map<string, FoundInstance>();
  const faults = new Map<string, Fault>();
  const describeBy = async (filter: string, ids: readonly string[]): Promise<void> => {
    const listing = await describeInstances(session, [{ Name: filter, Values: [...ids] }]);
    if (listing.kind === "fault") for (const id of ids) faults.set(id, listing.fault);
    else for (const each of listing.value.found) addInstance(each);
  };
  const addInstance = (each: FoundInstance): void => {
    found.set(each.id, each);
    for (const { NetworkInterfaceId: id } of each.instance.NetworkInterfaces ?? [])
      if (id !== undefined) found.set(id, each);
  };
  const chunkSize = countFreeFilterValues([]);
  await Promise.all([
    ...splitIntoChunks(instances, chunkSize).map((ids) => describeBy("instance-id", ids)),
    ...splitIntoChunks(interfaces, chunkSize).map((ids) =>
      describeBy("network-interface.network-interface-id", ids),
    ),
  ]);
  return { get: (id) => found.get(id), getFault: (id) => (found.has(id) ? undefined : faults.get(id)) };
}

/**
 * Classifies the owner of an instance behind a route; a terminated one without proof of ownership has none.
 */
export function classifyOwner(found: FoundInstance, cluster: AwsCluster): "ours" | "ended" | "foreign" {
  if (!isLive(found)) return isForgotten(found) || isClusterInstance(found, cluster) ? "ended" : "foreign";
  return isClusterInstance(found, cluster) ? "ours" : "foreign";
}

/** Returns the machine of a node for which there is work. */
export function getMachine(id: string, machines: Machines, cluster: AwsCluster): Machine {
  const fault = machines.getFault(id);
  if (fault !== undefined)
    return { kind: "unknown", id, because: { code: fault.code, message: fault.message } };
  const found = machines.get(id);
  if (found === undefined) return { kind: "missing", message: `there is no instance ${id}` };
  const owner = classifyOwner(found, cluster);
  if (owner === "ended") return { kind: "missing", message: `instance ${id} is shutting down or terminated` };
  if (owner === "foreign") return { kind: "missing", message: `instance ${id} is not the cluster's` };
  const { target, checks } = selectRouteTarget(found.instance, id);
  return {
    kind: "ready",
    id,
    target,
    forwards: checks === false,
    running: found.instance.State?.Name === "running",
  };
}

/** EC2 rejects an instance with several interfaces as target; the route then leads to the primary one. */
function selectRouteTarget(
  instance: Instance,
  id: string,
): { readonly target: AwsTarget; readonly checks: boolean | undefined } {
  const interfaces = instance.NetworkInterfaces ?? [];
  const primary = interfaces.find(isPrimary);
  if (interfaces.length < 2 || primary?.NetworkInterfaceId === undefined)
    return { target: { instance: id }, checks: instance.SourceDestCheck };
  return { target: { interface: primary.NetworkInterfaceId }, checks: primary.SourceDestCheck };
}

function isPrimary({ Attachment: attachment }: InstanceNetworkInterface): boolean {
  return attachment?.DeviceIndex === 0 && (attachment.NetworkCardIndex ?? 0) === 0;
}
