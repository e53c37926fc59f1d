import * as z from "zod";
import type { Api } from "#clouds/aws/actions/api.ts";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { instanceIdOf } from "#clouds/aws/locate-instance.ts";
import { findMachines, type Machines, machineOf, ownerOf } from "#clouds/aws/routes/machines.ts";
import { type FoundRoute, type FoundTable, findTables, routeTargetId } from "#clouds/aws/routes/tables.ts";
import type { Session } from "#clouds/aws/session.ts";
import { ok } from "#clouds/outcome.ts";
import { parseCidr } from "#core/cidr.ts";
import type { Machine, RouteQuestion, RouteState, Target } from "#core/route/state.ts";

/** A `RouteQuestion`, as it comes. */
export const Question = z.object({
  clusterCIDRs: z.array(z.string()),
  nodes: z.array(
    z.object({ name: z.string(), providerID: z.string().optional(), cidrs: z.array(z.string()) }),
  ),
}) satisfies z.ZodType<RouteQuestion>;

/** The requests that an observation takes: routes with one client, instances with that of nodes. */
export interface RouteSessions {
  readonly routes: Session<Api>;
  readonly instances: Session;
}

/** Describes the cluster's route tables, and of instances those alone that are not already known to be where they should be. */
export async function observeRoutes(
  question: RouteQuestion,
  { routes, instances }: RouteSessions,
  cluster: AwsCluster,
): Promise<Outcome<RouteState>> {
  const networks = question.clusterCIDRs.flatMap((text) => parseCidr(text) ?? []);
  const found = await findTables(routes, cluster, networks);
  if (found.kind === "fault" || found.value.kind === "no-tables") return found as Outcome<RouteState>;
  const { tables } = found.value;
  const nodes = question.nodes.map(({ name, providerID, cidrs }): AskedNode => {
    const id = providerID === undefined ? undefined : instanceIdOf(providerID);
    return { name, providerID, id, cidrs };
  });
  const sought = soughtOf(nodes, tables);
  const machines = await findMachines(instances, sought.instances, sought.interfaces);
  return ok({
    kind: "tables",
    tables: tables.map((table) => ({
      ...table,
      networks: [...table.networks],
      routes: table.routes.map(({ cidr, text, blackhole, to }) => ({
        cidr,
        ...(text === cidr ? {} : { text }),
        ...leadsTo({ to }),
        blackhole,
        target: sought.isSettled(cidr, to)
          ? { kind: "machine", id: to.id }
          : targetOf(to, blackhole, machines, cluster),
      })),
    })),
    machines: Object.fromEntries(
      nodes.map((node) => [node.name, machineOfNode(node, sought.nodes, machines, cluster)]),
    ),
  });
}

function leadsTo(route: Pick<FoundRoute, "to">): { readonly leadsTo?: string } {
  const id = routeTargetId(route);
  return id === undefined ? {} : { leadsTo: id };
}

interface AskedNode {
  readonly name: string;
  readonly providerID: string | undefined;
  readonly id: string | undefined;
  readonly cidrs: readonly string[];
}

interface Sought {
  readonly instances: ReadonlySet<string>;
  readonly interfaces: ReadonlySet<string>;
  /** Names of nodes for which something may have to be done. */
  readonly nodes: ReadonlySet<string>;
  /** Whether a route leads to the instance of a node that is to have it. */
  isSettled(
    cidr: string,
    to: FoundRoute["to"],
  ): to is Extract<FoundRoute["to"], { readonly kind: "instance" | "interface" }>;
}

/** Of which instances more is to be known than their ids. */
function soughtOf(nodes: readonly AskedNode[], tables: readonly FoundTable[]): Sought {
  const wanted = new Set(nodes.flatMap(({ id, cidrs }) => cidrs.map((cidr) => `${cidr} ${id}`)));
  const isSettled: Sought["isSettled"] = (cidr, to): to is never =>
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

function machineOfNode(
  { name, providerID, id }: AskedNode,
  open: ReadonlySet<string>,
  machines: Machines,
  cluster: AwsCluster,
): Machine {
  if (providerID === undefined) return { kind: "unnamed" };
  if (id === undefined) return { kind: "missing", message: `"${providerID}" names no instance of EC2` };
  return open.has(name) ? machineOf(id, machines, cluster) : { kind: "named", id };
}

/** Whose a route is by what stands behind it. */
function targetOf(to: FoundRoute["to"], blackhole: boolean, machines: Machines, cluster: AwsCluster): Target {
  if (to.kind === "nothing") return { kind: "gone" };
  if (!("id" in to)) return { kind: "foreign" };
  const fault = machines.faultOf(to.id);
  if (fault !== undefined) return { kind: "unknown", because: { code: fault.code, message: fault.message } };
  const found = machines.of(to.id);
  // An interface may be another service's, and an instance another account's: as long as traffic gets there it is somebody's.
  if (found === undefined) return { kind: blackhole ? "gone" : "foreign" };
  const owner = ownerOf(found, cluster);
  if (owner === "ended") return { kind: "gone" };
  return owner === "ours" ? { kind: "machine", id: found.id } : { kind: "foreign" };
}
