import { type Cidr, hasOverlap, parseCidr } from "#core/cidr.ts";
import {
  createLastingIssue,
  createTableFullIssue,
  type Issue,
  openQuestion,
  toIssue,
  UNNAMED,
} from "#core/route/issues.ts";
import { formatActionKey, formatRouteTarget, type NodeProof, type Pass } from "#core/route/pass.ts";
import type { DesiredRoutes, RouteNode } from "#core/route/related-node.ts";
import {
  createIncompleteNodesIssue,
  findStaleRoutes,
  judgeStaleRoutes,
  type StaleRoute,
  type StaleRules,
} from "#core/route/stale-routes.ts";
import {
  type Machine,
  QUOTA_CODE,
  type Route,
  type RouteTable,
  type RouteTables,
  type Step,
} from "#core/route/state.ts";

/** The phase of a node's routes. */
export type NodePhase =
  /** It has all its routes. */
  | { readonly kind: "routed" }
  /** Some work must be done for it first. */
  | { readonly kind: "pending" }
  | { readonly kind: "issue"; readonly issue: Issue }
  /** It needs no route and has none, or gets none any more. */
  | { readonly kind: "none" };

/** The plan for the routes of a cluster, with the phase of each node. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly standings: ReadonlyMap<string, NodePhase>;
  /** Routes without a node that may be deleted, now or after a later check. */
  readonly stale: readonly StaleRoute[];
  /** Whether a route must move away from a live instance of the cluster. */
  readonly hasTakeover: boolean;
  /**
   * The number of routes without a node that stay, because nothing proves that we look in the right place.
   */
  readonly unproven: number;
  /** Why routes without a node could not be deleted, or are not deleted yet. */
  readonly undeleted: readonly Issue[];
}

interface PlanInputs {
  readonly state: RouteTables;
  readonly desired: DesiredRoutes;
  readonly networks: readonly Cidr[];
  readonly pass: Pass;
  readonly rules: StaleRules;
  readonly proof: NodeProof;
}

/** Plans for all nodes and tables; equal arguments give an equal plan. */
export function planRoutes(nodes: readonly RouteNode[], parts: PlanInputs): Plan {
  const tables = parts.state.tables.map(parseTable);
  const owners = selectOwners(parts, tables);
  const nodeChecks = nodes.map((node) => ({ node, found: checkNodeRoutes(node, tables, owners, parts) }));
  const isControlled =
    nodeChecks.some(({ found }) => found.some(({ kind }) => kind === "there")) ||
    Object.values(parts.state.machines).some(({ kind }) => kind === "ready");
  const staleByTable = tables.map((table) => findStaleRoutes(table, parts, parts.rules));
  const stale = staleByTable.flatMap((one) => one.stale);
  const { deletions, waiting } = judgeStaleRoutes(isControlled ? stale : [], parts.rules, parts.proof);
  const steps = nodeChecks.flatMap(({ found }) =>
    found.flatMap((one) => (one.kind === "step" ? [one.step] : [])),
  );
  return {
    steps: orderSteps(deletions, steps),
    standings: new Map(nodeChecks.map(({ node, found }) => [node.name, decidePhase(node, found, parts)])),
    stale: isControlled ? stale : [],
    hasTakeover: [...owners].some(([cidr, name = ""]) => {
      const machine = parts.state.machines[name];
      return machine?.kind === "ready" && tables.some(({ routes }) => isTakenOver(routes.get(cidr), machine));
    }),
    unproven: isControlled ? 0 : stale.length,
    undeleted: [...staleByTable.flatMap(({ issues }) => issues), ...waiting],
  };
}

interface Table extends Pick<RouteTable, "id" | "size"> {
  readonly networks: readonly Cidr[];
  readonly routes: ReadonlyMap<string, Route>;
}

function parseTable({ id, size, networks, routes }: RouteTable): Table {
  return {
    id,
    size,
    networks: networks.flatMap((text) => parseCidr(text) ?? []),
    routes: new Map(routes.map((route) => [route.cidr, route])),
  };
}

/**
 * If several nodes claim a network, the current target of its route owns it. Without one, it is the first by name
 * with a live instance.
 */
function selectOwners(
  { desired, state }: PlanInputs,
  tables: readonly Table[],
): ReadonlyMap<string, string | undefined> {
  const leadsTo = (cidr: string, name: string): boolean =>
    tables.some(({ routes }) => isTo(routes.get(cidr), state.machines[name]));
  const isReady = (name: string): boolean => state.machines[name]?.kind === "ready";
  return new Map(
    [...desired.claims].map(([cidr, names]) => [
      cidr,
      names.find((name) => leadsTo(cidr, name)) ?? names.find(isReady) ?? names[0],
    ]),
  );
}

/** The state of one route of one node in one table. */
type RouteCheck =
  | { readonly kind: "there" }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "issue"; readonly issue: Issue }
  | { readonly kind: "none" };

function checkNodeRoutes(
  node: RouteNode,
  tables: readonly Table[],
  owners: ReadonlyMap<string, string | undefined>,
  parts: PlanInputs,
): readonly RouteCheck[] {
  const { desired } = parts;
  const checks = (desired.byNode.get(node.name) ?? []).flatMap((cidr) => {
    if (owners.get(cidr) === node.name) return tables.map((table) => checkRoute(node, cidr, table, parts));
    const message = `${cidr} is ${owners.get(cidr)}'s as well`;
    return [{ kind: "issue", issue: createLastingIssue("CIDRTaken", message) } as const];
  });
  if (!desired.outside.has(node.name)) return checks;
  const message = `not all of ${JSON.stringify(node.podCIDRs)} is within the cluster's networks`;
  return [...checks, { kind: "issue", issue: createLastingIssue("OutsideClusterCIDR", message) }];
}

function checkRoute(node: RouteNode, cidr: string, table: Table, parts: PlanInputs): RouteCheck {
  const machine = parts.state.machines[node.name] ?? { kind: "unnamed" };
  const issue = (of: Issue): RouteCheck => ({ kind: "issue", issue: of });
  const network = parseCidr(cidr);
  const overlapped = table.networks.find((other) => network !== undefined && hasOverlap(network, other));
  if (overlapped !== undefined)
    return issue(createLastingIssue("NetworkOverlaps", `${cidr} overlaps a network of table ${table.id}`));
  const existing = table.routes.get(cidr);
  if (existing !== undefined && isTo(existing, machine)) {
    // A blackhole whose machine exists and is stopped works again when the machine runs.
    const isDead = existing.blackhole && machine.kind === "ready" && machine.running;
    if (!isDead) return { kind: "there" };
  }
  if (existing?.target.kind === "foreign")
    return issue(createLastingIssue("RouteOccupied", `${cidr} in ${table.id} leads elsewhere`));
  if (existing?.target.kind === "unknown") return issue(openQuestion(existing.target.because));
  // A node that is being deleted gets no new routes.
  if (node.deleting === true) return { kind: "none" };
  return planStep(node, cidr, table, machine, parts);
}

function planStep(
  node: RouteNode,
  cidr: string,
  table: Table,
  machine: Machine,
  { pass, proof }: PlanInputs,
): RouteCheck {
  const existing = table.routes.get(cidr);
  const issue = (of: Issue): RouteCheck => ({ kind: "issue", issue: of });
  switch (machine.kind) {
    case "unnamed":
      return issue(UNNAMED);
    case "missing":
      return issue(createLastingIssue("InstanceNotFound", machine.message));
    case "unknown":
      return issue(openQuestion(machine.because));
    case "named":
      return issue(openQuestion({ code: "Conflict", message: `${machine.id} is checked first` }));
    case "ready":
      break;
  }
  const { id, target, forwards } = machine;
  if (isTakenOver(existing, machine) && !proof.isClaimedBy(cidr, node))
    return issue(createIncompleteNodesIssue(proof));
  if (!forwards) {
    const failed = pass.failed.get(formatActionKey("forward", id));
    if (failed !== undefined) return issue(toIssue(failed));
    return { kind: "step", step: { action: "forward", target: id, parameters: { target } } };
  }
  const action = existing === undefined ? "create" : "replace";
  const route = formatRouteTarget(table.id, cidr);
  const failed = pass.failed.get(formatActionKey(action, route));
  if (failed !== undefined) return issue(withNumber(toIssue(failed), table, pass));
  if (action === "create" && isFull(table, pass))
    return issue(withNumber(createTableFullIssue(""), table, pass));
  if (existing === undefined)
    return {
      kind: "step",
      step: { action: "create", target: route, parameters: { table: table.id, cidr, target } },
    };
  const { text = cidr, leadsTo } = existing;
  const parameters = { table: table.id, cidr: text, target, ...(leadsTo === undefined ? {} : { leadsTo }) };
  return { kind: "step", step: { action: "replace", target: route, parameters } };
}

/** Returns whether the route leads to another live instance of the cluster, which may be a newer node's. */
export function isTakenOver(existing: Route | undefined, machine: Machine): boolean {
  return existing?.target.kind === "machine" && !isTo(existing, machine);
}

function isTo(route: Route | undefined, machine: Machine | undefined): boolean {
  if (route?.target.kind !== "machine" || machine === undefined) return false;
  return "id" in machine && machine.id === route.target.id;
}

/** Whether a table has rejected a route in this pass because it is full. */
function isFull({ id }: Table, { failed }: Pass): boolean {
  const key = formatActionKey("create", formatRouteTarget(id, ""));
  return [...failed].some(([name, { message }]) => name.startsWith(key) && message.includes(QUOTA_CODE));
}

/** Adds the number of routes; after deletions in this pass there is room again. */
function withNumber(issue: Issue, { id, size }: Table, { done }: Pass): Issue {
  if (issue.code !== QUOTA_CODE) return issue;
  const deletion = formatActionKey("delete", formatRouteTarget(id, ""));
  if ([...done].some((key) => key.startsWith(deletion)))
    return { code: "Conflict", message: `route table ${id} was full`, afterSeconds: 1 };
  return { ...issue, message: `route table ${id} has ${size} routes and takes no more (${QUOTA_CODE})` };
}

/** Each step once, and a limited number: first what makes room, then each node's needs, then the rest. */
function orderSteps(deletions: readonly Step[], steps: readonly Step[]): readonly Step[] {
  const half = MAX_STEPS / 2;
  const ordered = [...deletions.slice(0, half), ...steps, ...deletions.slice(half)];
  const each = new Map(ordered.map((step) => [formatActionKey(step.action, step.target), step]));
  return [...each.values()].slice(0, MAX_STEPS);
}

/**
 * The maximum number of steps at a time; EC2 allows an account five changes a second, after a burst of fifty.
 */
const MAX_STEPS = 32;

function decidePhase(node: RouteNode, found: readonly RouteCheck[], { state }: PlanInputs): NodePhase {
  const issue = found.find((each) => each.kind === "issue");
  if (found.some(({ kind }) => kind === "step")) return { kind: "pending" };
  if (issue !== undefined) return issue;
  if (found.length > 0) return { kind: found.every(({ kind }) => kind === "there") ? "routed" : "none" };
  // A node without a network that still has routes is about to lose them.
  const machine = state.machines[node.name];
  const isRoutedTo = state.tables.some(({ routes }) => routes.some((route) => isTo(route, machine)));
  return isRoutedTo ? { kind: "issue", issue: WITHOUT_NETWORK } : { kind: "none" };
}

const WITHOUT_NETWORK: Issue = {
  code: "NoPodCIDR",
  message: "the node has routes, and no pod CIDR",
  afterSeconds: 600,
};
