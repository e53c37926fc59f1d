import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { MAX_CANDIDATES } from "#core/event.ts";
import { actionKey, type Pass, routeTarget } from "#core/route/pass.ts";
import { openQuestion, type Problem, problemOf } from "#core/route/problems.ts";
import type { NodeProof } from "#core/route/proof.ts";
import type { Route, Step } from "#core/route/state.ts";
import type { Wanted } from "#core/route/wanted.ts";
import type { Stop } from "#core/stop.ts";

/** A route is deleted when a look this many seconds after the first one finds it stale, too: a list of nodes may be old. */
export const CONFIRMED_SECONDS = 15;

/** A route within the cluster's networks that no node of the event claims, and that is the cluster's. */
export interface StaleRoute {
  readonly cidr: string;
  /** The deletion candidate: another target is another candidate. */
  readonly id: string;
  readonly deletion: Step;
  /** Whether it leads to a live instance of the cluster: the instance may be a node that the event's list does not have. */
  readonly isLive: boolean;
  /** Seconds until it may be deleted; 0 when it may be now. */
  readonly waitSeconds: number;
}

/** How stale routes are judged. */
export interface StaleRules {
  /** Seconds for which every report has named a candidate, by its id. */
  readonly waited: ReadonlyMap<string, number>;
  /**
   * A sweep remembers nothing, and works where no relay does. Its list of nodes is new, so it deletes a route whose instance has ended at
   * the first look, and no other.
   */
  readonly isSweep: boolean;
  readonly stop: Stop | undefined;
}

/** The stale routes of a table, and why others that look stale stay as they are. */
export interface StaleRoutes {
  readonly stale: readonly StaleRoute[];
  readonly problems: readonly Problem[];
}

/** Finds the routes of a table within the cluster's networks that no node claims and that are the cluster's to delete. */
export function findStaleRoutes(
  table: { readonly id: string; readonly routes: ReadonlyMap<string, Route> },
  parts: { readonly wanted: Wanted; readonly networks: readonly Cidr[]; readonly pass: Pass },
  rules: StaleRules,
): StaleRoutes {
  const stale: StaleRoute[] = [];
  const problems: Problem[] = [];
  for (const route of table.routes.values()) {
    const { cidr, target } = route;
    const network = parseCidr(cidr);
    const isInside = network !== undefined && parts.networks.some((each) => isWithin(network, each));
    if (!isInside || parts.wanted.claims.has(cidr) || target.kind === "foreign") continue;
    if (target.kind === "unknown") {
      problems.push(openQuestion(target.because));
      continue;
    }
    const failed = parts.pass.failed.get(actionKey("delete", routeTarget(table.id, cidr)));
    if (failed === undefined) stale.push(staleRoute(table.id, route, rules));
    else problems.push(problemOf(failed));
  }
  return { stale, problems };
}

/** What is deleted now of stale routes, and why others wait. Those that operators have stopped are in neither. */
export function judgeStaleRoutes(
  stale: readonly StaleRoute[],
  { stop }: StaleRules,
  proof: NodeProof,
): { readonly deletions: readonly Step[]; readonly waiting: readonly Problem[] } {
  const deletions: Step[] = [];
  const waiting: Problem[] = [];
  for (const route of stale) {
    const { waitSeconds, deletion, isLive, cidr } = route;
    if (waitSeconds > 0) waiting.push({ ...UNCONFIRMED, afterSeconds: Math.ceil(waitSeconds) });
    else if (isStopped(route, stop)) continue;
    else if (proof.isComplete && (!isLive || proof.isUnclaimed(cidr))) deletions.push(deletion);
    else waiting.push(incompleteNodes(proof));
  }
  return { deletions, waiting };
}

/** Whether operators have stopped the deletion: while nobody knows what is stopped, a route goes for its instance's end alone. */
export function isStopped({ isLive }: StaleRoute, stop: Stop | undefined): boolean {
  return stop === "unproven" ? isLive : stop !== undefined;
}

/** The ids that a report names, so that the next event tells how long ago that was. */
export function namedCandidates(stale: readonly StaleRoute[]): readonly string[] {
  // Those that have waited longest stay among them, or a table with many stale routes would never come to an end.
  return stale
    .toSorted((a, b) => a.waitSeconds - b.waitSeconds || (a.id < b.id ? -1 : 1))
    .slice(0, MAX_CANDIDATES)
    .map(({ id }) => id);
}

const UNCONFIRMED = {
  code: "StaleRoutes",
  message: "a route leads to no node, and is deleted when a later look finds the same",
} as const;

/** The nodes of the event are not known to be those of the cluster: the sender's list may be older. */
export function incompleteNodes({ gap }: NodeProof): Problem {
  const message = `a route stays as it is until the nodes agree: ${gap}`;
  return { code: "NodesIncomplete", message, afterSeconds: 5, isOpen: true };
}

function staleRoute(table: string, { cidr, text, target, leadsTo }: Route, rules: StaleRules): StaleRoute {
  const id = `${table} ${cidr} ${leadsTo ?? (target.kind === "machine" ? target.id : target.kind)}`;
  const isLive = target.kind === "machine";
  const isConfirmed = rules.isSweep && !isLive;
  const parameters = { table, cidr: text ?? cidr, ...(leadsTo === undefined ? {} : { leadsTo }) };
  return {
    cidr,
    id,
    isLive,
    deletion: { action: "delete", target: routeTarget(table, cidr), parameters },
    waitSeconds: isConfirmed ? 0 : Math.max(0, CONFIRMED_SECONDS - (rules.waited.get(id) ?? 0)),
  };
}
