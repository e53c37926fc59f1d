import type { Instance, InstanceNetworkInterface } from "@aws-sdk/client-ec2";
import * as z from "zod";
import type { Api } from "#clouds/aws/actions/api.ts";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  findGap,
  isLive,
} from "#clouds/aws/describe-instances.ts";
import type { Fault, Outcome } from "#clouds/aws/errors.ts";
import { parseInstanceId } from "#clouds/aws/locate-instance.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance, isForgotten } from "#clouds/aws/resolution.ts";
import type { AwsTarget } from "#clouds/aws/routes/requests.ts";
import { type FoundRoute, type FoundTable, findTables, getRouteTargetId } from "#clouds/aws/routes/tables.ts";
import type { Session } from "#clouds/aws/session.ts";
import { ok } from "#clouds/outcome.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import { parseCidr } from "#core/cidr.ts";
import type { Machine, RouteQuestion, RouteState, Target } from "#core/route/state.ts";

/** Schema of a `RouteQuestion`. */
export const Question = z.object({
  clusterCIDRs: z.array(z.string()),
  nodes: z.array(
    z.object({ name: z.string(), providerID: z.string().optional(), cidrs: z.array(z.string()) }),
  ),
}) satisfies z.ZodType<RouteQuestion>;

/** Sessions for an observation: routes have their own client, instances use that of nodes. */
export interface RouteSessions {
  readonly routes: Session<Api>;
  readonly instances: Session;
}

/**
 * Describes the cluster's route tables. It describes only instances that are not yet known to be the right
 * targets.
 */
export async function observeRoutes(
  question: RouteQuestion,
  { routes, instances }: RouteSessions,
  cluster: AwsCluster,
): Promise<Outcome<RouteState>> {
  const networks = question.clusterCIDRs.flatMap((text) => parseCidr(text) ?? []);
  const found = await findTables(routes, cluster, networks);
  if (found.kind === "fault" || found.value.kind === "no-tables") return found as Outcome<RouteState>;
  const { tables } = found.value;
  const nodes = question.nodes.map(({ name, providerID, cidrs }): NodeQuery => {
    const id = providerID === undefined ? undefined : parseInstanceId(providerID);
    return { name, providerID, id, cidrs };
  });
  const query = buildInstanceQuery(nodes, tables);
  const machines = await findMachines(instances, query.instances, query.interfaces);
  return ok({
    kind: "tables",
    tables: tables.map((table) => ({
      ...table,
      networks: [...table.networks],
      routes: table.routes.map(({ cidr, text, blackhole, target }) => ({
        cidr,
        ...(text === cidr ? {} : { text }),
        ...buildLeadsTo({ target }),
        blackhole,
        target: query.isSettled(cidr, target)
          ? { kind: "machine", id: target.id }
          : classifyTarget(target, blackhole, machines, cluster),
      })),
    })),
    machines: Object.fromEntries(
      nodes.map((node) => [node.name, getNodeMachine(node, query.nodes, machines, cluster)]),
    ),
  });
}

function buildLeadsTo(route: Pick<FoundRoute, "target">): { readonly leadsTo?: string } {
  const id = getRouteTargetId(route);
  return id === undefined ? {} : { leadsTo: id };
}

interface NodeQuery {
  readonly name: string;
  readonly providerID: string | undefined;
  readonly id: string | undefined;
  readonly cidrs: readonly string[];
}

interface InstanceQuery {
  readonly instances: ReadonlySet<string>;
  readonly interfaces: ReadonlySet<string>;
  /** Names of nodes that may need a change. */
  readonly nodes: ReadonlySet<string>;
  /** Whether a route leads to the instance of its node, the only one that claims the network. */
  isSettled(
    cidr: string,
    target: FoundRoute["target"],
  ): target is Extract<FoundRoute["target"], { readonly kind: "instance" | "interface" }>;
}

/** Selects the instances of which more than the id is needed. */
function buildInstanceQuery(nodes: readonly NodeQuery[], tables: readonly FoundTable[]): InstanceQuery {
  // Any node can name any instance. If several nodes claim a network, the owner of its route's target decides.
  const claimants = Map.groupBy(
    nodes.flatMap(({ id, cidrs }) => cidrs.map((cidr) => ({ cidr, id }))),
    ({ cidr }) => cidr,
  );
  const desiredTargets = new Set(
    [...claimants].flatMap(([cidr, [first, ...others]]) =>
      others.length === 0 ? [`${cidr} ${first?.id}`] : [],
    ),
  );
  const isSettled: InstanceQuery["isSettled"] = (cidr, target): target is never =>
    target.kind === "instance" && desiredTargets.has(`${cidr} ${target.id}`);
  const correctRoutes = tables.map(
    ({ routes }) =>
      new Set(
        routes.flatMap(({ cidr, target, blackhole }) =>
          isSettled(cidr, target) && !blackhole ? `${cidr} ${target.id}` : [],
        ),
      ),
  );
  const incompleteNodes = nodes.filter(({ id, cidrs }) =>
    cidrs.some((cidr) => correctRoutes.some((routes) => !routes.has(`${cidr} ${id}`))),
  );
  const unsettledRoutes = tables.flatMap(({ routes }) =>
    routes.filter(({ cidr, target }) => !isSettled(cidr, target)),
  );
  const listTargetIds = (kind: "instance" | "interface"): string[] =>
    unsettledRoutes.flatMap(({ target }) => (target.kind === kind && "id" in target ? target.id : []));
  return {
    instances: new Set([...incompleteNodes.flatMap(({ id }) => id ?? []), ...listTargetIds("instance")]),
    interfaces: new Set(listTargetIds("interface")),
    nodes: new Set(incompleteNodes.map(({ name }) => name)),
    isSettled,
  };
}

function getNodeMachine(
  { name, providerID, id }: NodeQuery,
  incompleteNodes: ReadonlySet<string>,
  machines: Machines,
  cluster: AwsCluster,
): Machine {
  if (providerID === undefined) return { kind: "unnamed" };
  if (id === undefined) return { kind: "missing", message: `"${providerID}" names no instance of EC2` };
  return incompleteNodes.has(name) ? getMachine(id, machines, cluster) : { kind: "named", id };
}

/** Classifies the owner of a route by its target. */
function classifyTarget(
  target: FoundRoute["target"],
  blackhole: boolean,
  machines: Machines,
  cluster: AwsCluster,
): Target {
  if (target.kind === "nothing") return { kind: "gone" };
  if (!("id" in target)) return { kind: "foreign" };
  const fault = machines.getFault(target.id);
  if (fault !== undefined) return { kind: "unknown", because: { code: fault.code, message: fault.message } };
  const found = machines.get(target.id);
  // An interface may belong to another service, and an instance to another account: if traffic reaches it,
  // the route is foreign.
  if (found === undefined) return { kind: blackhole ? "gone" : "foreign" };
  const owner = classifyOwner(found, cluster);
  if (owner === "ended") return { kind: "gone" };
  return owner === "ours" ? { kind: "machine", id: found.id } : { kind: "foreign" };
}

/** EC2's answers about instances. */
interface Machines {
  /** By the id of an instance or of one of its network interfaces; undefined if it does not exist. */
  get(id: string): FoundInstance | undefined;
  /** The fault if the instance is unknown. */
  getFault(id: string): Fault | undefined;
}

/** Reads instances by their ids and by those of their interfaces; missing ones are allowed. */
async function findMachines(
  session: Session,
  instances: ReadonlySet<string>,
  interfaces: ReadonlySet<string>,
): Promise<Machines> {
  const found = new Map<string, FoundInstance>();
  const faults = new Map<string, Fault>();
  const describeBy = async (filter: string, ids: readonly string[]): Promise<void> => {
    const listing = await describeInstances(session, [{ Name: filter, Values: [...ids] }]);
    if (listing.kind === "ok") for (const each of listing.value.found) addInstance(each);
    const fault = listing.kind === "fault" ? listing.fault : findGap(listing.value);
    if (fault !== undefined) for (const id of ids) faults.set(id, fault);
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
function classifyOwner(found: FoundInstance, cluster: AwsCluster): "ours" | "ended" | "foreign" {
  if (!isLive(found)) return isForgotten(found) || isClusterInstance(found, cluster) ? "ended" : "foreign";
  return isClusterInstance(found, cluster) ? "ours" : "foreign";
}

/** Returns the machine of a node for which there is work. */
function getMachine(id: string, machines: Machines, cluster: AwsCluster): Machine {
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
