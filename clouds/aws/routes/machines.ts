import type { Instance, InstanceNetworkInterface } from "@aws-sdk/client-ec2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { chunksOf, describeInstances, type Found, roomBeside } from "#clouds/aws/describe-instances.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import { isLive } from "#clouds/aws/live.ts";
import { isForgotten, isOurs } from "#clouds/aws/resolution.ts";
import type { AwsTarget } from "#clouds/aws/routes/requests.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Machine } from "#core/route/state.ts";

/** What EC2 says of instances that were asked for. */
export interface Machines {
  /** By the id of an instance, or of a network interface of it; undefined where there is none. */
  of(id: string): Found | undefined;
  /** Why nothing is known of it. */
  faultOf(id: string): Fault | undefined;
}

/** Asks for instances by their own ids and by those of their interfaces. None of them need be there. */
export async function findMachines(
  session: Session,
  instances: ReadonlySet<string>,
  interfaces: ReadonlySet<string>,
): Promise<Machines> {
  const found = new Map<string, Found>();
  const faults = new Map<string, Fault>();
  const ask = async (filter: string, ids: readonly string[]): Promise<void> => {
    const listing = await describeInstances(session, [{ Name: filter, Values: [...ids] }]);
    if (listing.kind === "fault") for (const id of ids) faults.set(id, listing.fault);
    else for (const each of listing.value.found) remember(each);
  };
  const remember = (each: Found): void => {
    found.set(each.id, each);
    for (const { NetworkInterfaceId: id } of each.instance.NetworkInterfaces ?? [])
      if (id !== undefined) found.set(id, each);
  };
  const room = roomBeside([]);
  await Promise.all([
    ...chunksOf(instances, room).map((ids) => ask("instance-id", ids)),
    ...chunksOf(interfaces, room).map((ids) => ask("network-interface.network-interface-id", ids)),
  ]);
  return { of: (id) => found.get(id), faultOf: (id) => (found.has(id) ? undefined : faults.get(id)) };
}

/** Whose an instance behind a route is; one that has ended, and of which nothing tells whose it was, is nobody's. */
export function ownerOf(found: Found, cluster: AwsCluster): "ours" | "ended" | "foreign" {
  if (!isLive(found)) return isForgotten(found) || isOurs(found, cluster) ? "ended" : "foreign";
  return isOurs(found, cluster) ? "ours" : "foreign";
}

/** The machine of a node that something is to be done for. */
export function machineOf(id: string, machines: Machines, cluster: AwsCluster): Machine {
  const fault = machines.faultOf(id);
  if (fault !== undefined)
    return { kind: "unknown", id, because: { code: fault.code, message: fault.message } };
  const found = machines.of(id);
  if (found === undefined) return { kind: "missing", message: `there is no instance ${id}` };
  const owner = ownerOf(found, cluster);
  if (owner === "ended") return { kind: "missing", message: `instance ${id} has ended` };
  if (owner === "foreign") return { kind: "missing", message: `instance ${id} is not the cluster's` };
  const { target, checks } = targetOf(found.instance, id);
  return {
    kind: "ready",
    id,
    target,
    forwards: checks === false,
    running: found.instance.State?.Name === "running",
  };
}

/** EC2 takes no instance with several interfaces: a route leads to its primary one, then. */
function targetOf(
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
