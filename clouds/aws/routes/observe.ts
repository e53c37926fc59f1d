import * as z from "zod";
import type { Api } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { parseInstanceId } from "#clouds/aws/locate-instance.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { classifyOwner, findMachines, getMachine, type Machines } from "#clouds/aws/routes/machines.ts";
import { type FoundRoute, type FoundTable, findTables, getRouteTargetId } from "#clouds/aws/routes/tables.ts";
import type { Session } from "#clouds/aws/session.ts";
import { ok } from "#clouds/outcome.ts";
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
  const sought = buildInstanceQuery(nodes, tables);
  const machines = await findMachines(instances, sought.instances, sought.interfaces);
  return ok({
    kind: "tables",
    tables: tables.map((table) => ({
      ...table,
      networks: [...table.networks],
      routes: table.routes.map(({ cidr, text, blackhole, to }) => ({
        cidr,
        ...(text === cidr ? {} : { text }),
        ...buildLeadsTo({ to }),
        blackhole,
        target: sought.isSettled(cidr, to)
          ? { kind: "machine", id: to.id }
          : classifyTarget(to, blackhole, machines, cluster),
      })),
    })),
    machines: Object.fromEntries(
      nodes.map((node) => [node.name, getNodeMachine(node, sought.nodes, machines, cluster)]),
    ),
  });
}

function buildLeadsTo(route: Pick<FoundRoute, "to">): { readonly leadsTo?: string } {
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
  /** Whether a route leads to the instance of its node. */
  isSettled(
    cidr: string,
    to: FoundRoute["to"],
  ): to is Extract<FoundRoute["to"], { readonly kind: "instance" | "interface" }>;
}

/** Selects the instances of which more than the id is needed. */
function buildInstanceQuery(nodes: readonly NodeQuery[], tables: readonly FoundTable[]): InstanceQuery {
  const wanted = new Set(nodes.flatMap(({ id, cidrs }) => cidrs.map((cidr) => `${cidr} ${id}`)));
  const isSettled: InstanceQuery["isSettled"] = (cidr, to): to is never =>
    to.kind === "instance" && wanted.has(`${cidr} ${to.id}`);
  const there = tables.map(
    ({ routes }) =>
      new Set(
        routes.flatMap(({ cidr, to, blackhole }) =>
          isSettled(cidr, to) && !blackhole ? `${cidr} ${to.id}` : [],
        ),
      ),
  );
  const open = nodes.filter(({ id, cidrs }) =>
    cidrs.some((cidr) => there.some((routes) => !routes.has(`${cidr} ${id}`))),
  );
  const others = tables.flatMap(({ routes }) => routes.filter(({ cidr, to }) => !isSettled(cidr, to)));
  const idsOf = (kind: "instance" | "interface"): string[] =>
    others.flatMap(({ to }) => (to.kind === kind && "id" in to ? to.id : []));
  return {
    instances: new Set([...open.flatMap(({ id }) => id ?? []), ...idsOf("instance")]),
    interfaces: new Set(idsOf("interface")),
    nodes: new Set(open.map(({ name }) => name)),
    isSettled,
  };
}

function getNodeMachine(
  { name, providerID, id }: NodeQuery,
  open: ReadonlySet<string>,
  machines: Machines,
  cluster: AwsCluster,
): Machine {
  if (providerID === undefined) return { kind: "unnamed" };
  if (id === undefined) return { kind: "missing", message: `"${providerID}" names no instance of EC2` };
  return open.has(name) ? getMachine(id, machines, cluster) : { kind: "named", id };
}

/** Classifies the owner of a route by its target. */
function classifyTarget(
  to: FoundRoute["to"],
  blackhole: boolean,
  machines: Machines,
  cluster: AwsCluster,
): Target {
  if (to.kind === "nothing") return { kind: "gone" };
  if (!("id" in to)) return { kind: "foreign" };
  const fault = machines.getFault(to.id);
  if (fault !== undefined) return { kind: "unknown", because: { code: fault.code, message: fault.message } };
  const found = machines.get(to.id);
  // An interface may belong to another service, and an instance to another account: if traffic reaches it,
  // the route is foreign.
  if (found === undefined) return { kind: blackhole ? "gone" : "foreign" };
  const owner = classifyOwner(found, cluster);
  if (owner === "ended") return { kind: "gone" };
  return owner === "ours" ? { kind: "machine", id: found.id } : { kind: "foreign" };
}
