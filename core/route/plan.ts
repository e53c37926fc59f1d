import { type Cidr, overlaps, parseCidr } from "#core/cidr.ts";
import { actionKey, type Pass, routeTarget } from "#core/route/pass.ts";
import {
  lastingProblem,
  openQuestion,
  type Problem,
  problemOf,
  tableFull,
  UNNAMED,
} from "#core/route/problems.ts";
import type { NodeProof } from "#core/route/proof.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import {
  findStaleRoutes,
  incompleteNodes,
  judgeStaleRoutes,
  type StaleRoute,
  type StaleRules,
} from "#core/route/stale.ts";
import {
  type Machine,
  QUOTA_CODE,
  type Route,
  type RouteTable,
  type RouteTables,
  type Step,
} from "#core/route/state.ts";
import type { Wanted } from "#core/route/wanted.ts";

/** How a node stands. */
export type Standing =
  /** It has all its routes. */
  | { readonly kind: "routed" }
  /** Something is to be done for it first. */
  | { readonly kind: "pending" }
  | { readonly kind: "problem"; readonly problem: Problem }
  /** It is to have none, and none leads to it; or none is made for it any more. */
  | { readonly kind: "none" };

/** What is to be done about the routes of a cluster, and how each of its nodes stands. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly standings: ReadonlyMap<string, Standing>;
  /** Routes that no node is to have and that may go, now or after a later look. */
  readonly stale: readonly StaleRoute[];
  /** Whether a route is to lead elsewhere than to the live instance of the cluster that it leads to. */
  readonly hasTakeover: boolean;
  /** Routes that no node is to have, and that stay because nothing shows that we look in the right place. */
  readonly unproven: number;
  /** Why routes that no node is to have could not be taken away, and why they are not yet. */
  readonly undeleted: readonly Problem[];
}

interface Parts {
  readonly state: RouteTables;
  readonly wanted: Wanted;
  readonly networks: readonly Cidr[];
  readonly pass: Pass;
  readonly rules: StaleRules;
  readonly proof: NodeProof;
}

/** Plans for all nodes and tables; the same for the same arguments. */
export function planRoutes(nodes: readonly RouteNode[], parts: Parts): Plan {
  const tables = parts.state.tables.map(tableOf);
  const owners = ownersOf(parts, tables);
  const each = nodes.map((node) => ({ node, found: findingsOf(node, tables, owners, parts) }));
  const isControlled =
    each.some(({ found }) => found.some(({ kind }) => kind === "there")) ||
    Object.values(parts.state.machines).some(({ kind }) => kind === "ready");
  const found = tables.map((table) => findStaleRoutes(table, parts, parts.rules));
  const stale = found.flatMap((one) => one.stale);
  const { deletions, waiting } = judgeStaleRoutes(isControlled ? stale : [], parts.rules, parts.proof);
  const steps = each.flatMap(({ found }) => found.flatMap((one) => (one.kind === "step" ? [one.step] : [])));
  return {
    steps: inTurn(deletions, steps),
    standings: new Map(each.map(({ node, found }) => [node.name, standingOf(node, found, parts)])),
    stale: isControlled ? stale : [],
    hasTakeover: [...owners].some(([cidr, name = ""]) => {
      const machine = parts.state.machines[name];
      return machine?.kind === "ready" && tables.some(({ routes }) => isTakenOver(routes.get(cidr), machine));
    }),
    unproven: isControlled ? 0 : stale.length,
    undeleted: [...found.flatMap(({ problems }) => problems), ...waiting],
  };
}

interface Table extends Pick<RouteTable, "id" | "size"> {
  readonly networks: readonly Cidr[];
  readonly routes: ReadonlyMap<string, Route>;
}

function tableOf({ id, size, networks, routes }: RouteTable): Table {
  return {
    id,
    size,
    networks: networks.flatMap((text) => parseCidr(text) ?? []),
    routes: new Map(routes.map((route) => [route.cidr, route])),
  };
}

/** Of nodes that are at odds over a network, the one that a route leads to, or the first by name, has it. */
function ownersOf(
  { wanted, state }: Parts,
  tables: readonly Table[],
): ReadonlyMap<string, string | undefined> {
  const leadsTo = (cidr: string, name: string): boolean =>
    tables.some(({ routes }) => isTo(routes.get(cidr), state.machines[name]));
  return new Map(
    [...wanted.claims].map(([cidr, names]) => [cidr, names.find((name) => leadsTo(cidr, name)) ?? names[0]]),
  );
}

/** What is so about one route of one node in one table. */
type Finding =
  | { readonly kind: "there" }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "problem"; readonly problem: Problem }
  | { readonly kind: "none" };

function findingsOf(
  node: RouteNode,
  tables: readonly Table[],
  owners: ReadonlyMap<string, string | undefined>,
  parts: Parts,
): readonly Finding[] {
  const { wanted } = parts;
  const found = (wanted.byNode.get(node.name) ?? []).flatMap((cidr) => {
    if (owners.get(cidr) === node.name) return tables.map((table) => findingOf(node, cidr, table, parts));
    const message = `${cidr} is ${owners.get(cidr)}'s as well`;
    return [{ kind: "problem", problem: lastingProblem("CIDRTaken", message) } as const];
  });
  if (!wanted.outside.has(node.name)) return found;
  const message = `not all of ${JSON.stringify(node.podCIDRs)} is within the cluster's networks`;
  return [...found, { kind: "problem", problem: lastingProblem("OutsideClusterCIDR", message) }];
}

function findingOf(node: RouteNode, cidr: string, table: Table, parts: Parts): Finding {
  const machine = parts.state.machines[node.name] ?? { kind: "unnamed" };
  const problem = (of: Problem): Finding => ({ kind: "problem", problem: of });
  const network = parseCidr(cidr);
  const overlapped = table.networks.find((other) => network !== undefined && overlaps(network, other));
  if (overlapped !== undefined)
    return problem(lastingProblem("NetworkOverlaps", `${cidr} overlaps a network of table ${table.id}`));
  const existing = table.routes.get(cidr);
  if (existing !== undefined && isTo(existing, machine)) {
    // What leads nowhere although its machine is there, but does not run, does so again when that runs.
    const isDead = existing.blackhole && machine.kind === "ready" && machine.running;
    if (!isDead) return { kind: "there" };
  }
  if (existing?.target.kind === "foreign")
    return problem(lastingProblem("RouteOccupied", `${cidr} in ${table.id} leads elsewhere`));
  if (existing?.target.kind === "unknown") return problem(openQuestion(existing.target.because));
  // Whoever is being deleted gets nothing new.
  if (node.deleting === true) return { kind: "none" };
  return stepTo(node, cidr, table, machine, parts);
}

function stepTo(
  node: RouteNode,
  cidr: string,
  table: Table,
  machine: Machine,
  { pass, proof }: Parts,
): Finding {
  const existing = table.routes.get(cidr);
  const problem = (of: Problem): Finding => ({ kind: "problem", problem: of });
  switch (machine.kind) {
    case "unnamed":
      return problem(UNNAMED);
    case "missing":
      return problem(lastingProblem("InstanceNotFound", machine.message));
    case "unknown":
      return problem(openQuestion(machine.because));
    case "named":
      return problem(openQuestion({ code: "Conflict", message: `${machine.id} is looked at first` }));
    case "ready":
      break;
  }
  const { id, target, forwards } = machine;
  if (isTakenOver(existing, machine) && !proof.isClaimedBy(cidr, node))
    return problem(incompleteNodes(proof));
  if (!forwards) {
    const failed = pass.failed.get(actionKey("forward", id));
    if (failed !== undefined) return problem(problemOf(failed));
    return { kind: "step", step: { action: "forward", target: id, parameters: { target } } };
  }
  const action = existing === undefined ? "create" : "replace";
  const route = routeTarget(table.id, cidr);
  const failed = pass.failed.get(actionKey(action, route));
  if (failed !== undefined) return problem(withNumber(problemOf(failed), table, pass));
  if (action === "create" && isFull(table, pass)) return problem(withNumber(tableFull(""), table, pass));
  if (existing === undefined)
    return {
      kind: "step",
      step: { action: "create", target: route, parameters: { table: table.id, cidr, target } },
    };
  const { text = cidr, leadsTo } = existing;
  const parameters = { table: table.id, cidr: text, target, ...(leadsTo === undefined ? {} : { leadsTo }) };
  return { kind: "step", step: { action: "replace", target: route, parameters } };
}

/** Whether the route leads to another live instance of the cluster, which may be that of a newer node. */
export function isTakenOver(existing: Route | undefined, machine: Machine): boolean {
  return existing?.target.kind === "machine" && !isTo(existing, machine);
}

function isTo(route: Route | undefined, machine: Machine | undefined): boolean {
  if (route?.target.kind !== "machine" || machine === undefined) return false;
  return "id" in machine && machine.id === route.target.id;
}

/** Whether a table has refused a route in this pass because it takes no more. */
function isFull({ id }: Table, { failed }: Pass): boolean {
  const key = actionKey("create", routeTarget(id, ""));
  return [...failed].some(([name, { message }]) => name.startsWith(key) && message.includes(QUOTA_CODE));
}

/** How many there are; where some were deleted since, there is room by now. */
function withNumber(problem: Problem, { id, size }: Table, { done }: Pass): Problem {
  if (problem.code !== QUOTA_CODE) return problem;
  const deletion = actionKey("delete", routeTarget(id, ""));
  if ([...done].some((key) => key.startsWith(deletion)))
    return { code: "Conflict", message: `route table ${id} was full`, afterSeconds: 1 };
  return { ...problem, message: `route table ${id} has ${size} routes and takes no more (${QUOTA_CODE})` };
}

/** Each once, and no more than is soon done: what makes room, node by node what each needs, and then the rest. */
function inTurn(deletions: readonly Step[], steps: readonly Step[]): readonly Step[] {
  const half = MAX_STEPS / 2;
  const all = [...deletions.slice(0, half), ...steps, ...deletions.slice(half)];
  const each = new Map(all.map((step) => [actionKey(step.action, step.target), step]));
  return [...each.values()].slice(0, MAX_STEPS);
}

/** At a time; EC2 lets an account change five things a second, after fifty at once. */
const MAX_STEPS = 32;

function standingOf(node: RouteNode, found: readonly Finding[], { state }: Parts): Standing {
  const problem = found.find((each) => each.kind === "problem");
  if (found.some(({ kind }) => kind === "step")) return { kind: "pending" };
  if (problem !== undefined) return problem;
  if (found.length > 0) return { kind: found.every(({ kind }) => kind === "there") ? "routed" : "none" };
  // Who has no network, and still has routes, is about to lose them.
  const machine = state.machines[node.name];
  const isRoutedTo = state.tables.some(({ routes }) => routes.some((route) => isTo(route, machine)));
  return isRoutedTo ? { kind: "problem", problem: WITHOUT_NETWORK } : { kind: "none" };
}

const WITHOUT_NETWORK: Problem = {
  code: "NoPodCIDR",
  message: "the node has routes, and no pod CIDR",
  afterSeconds: 600,
};
