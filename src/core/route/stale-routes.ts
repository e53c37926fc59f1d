import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { MAX_CANDIDATES } from "#core/event.ts";
import { type Issue, openQuestion, toIssue } from "#core/route/issues.ts";
import { formatActionKey, formatRouteTarget, type NodeProof, type Pass } from "#core/route/pass.ts";
import type { DesiredRoutes } from "#core/route/related-node.ts";
import type { Route, Step } from "#core/route/state.ts";
import type { Stop } from "#core/stop.ts";

/**
 * A list of nodes may be old, so a route is deleted only when a second check finds it stale again. The checks
 * are at least this many seconds apart.
 */
export const CONFIRMED_SECONDS = 15;

/** A route of the cluster, within its networks, that no node of the event claims. */
export interface StaleRoute {
  readonly cidr: string;
  /** The deletion candidate: another target is another candidate. */
  readonly id: string;
  readonly deletion: Step;
  /**
   * Whether it leads to a live instance of the cluster, which may be a node missing from the event's list.
   */
  readonly isLive: boolean;
  /** Seconds until it may be deleted; 0 if it may be deleted now. */
  readonly waitSeconds: number;
}

/** The rules by which stale routes are judged. */
export interface StaleRules {
  /** By candidate ID: the seconds for which every report has contained it. */
  readonly waited: ReadonlyMap<string, number>;
  /**
   * A sweep keeps no records, and works if no relay does. Its list of nodes is new, so its first check
   * deletes a route whose instance has ended, and no other route.
   */
  readonly isSweep: boolean;
  readonly stop: Stop | undefined;
}

/** The stale routes of a table, and why others that seem stale stay. */
export interface StaleRoutes {
  readonly stale: readonly StaleRoute[];
  readonly issues: readonly Issue[];
}

/** Finds the cluster's own routes of a table, within the cluster's networks, that no node claims. */
export function findStaleRoutes(
  table: { readonly id: string; readonly routes: ReadonlyMap<string, Route> },
  parts: { readonly desired: DesiredRoutes; readonly networks: readonly Cidr[]; readonly pass: Pass },
  rules: StaleRules,
): StaleRoutes {
  const stale: StaleRoute[] = [];
  const issues: Issue[] = [];
  for (const route of table.routes.values()) {
    const { cidr, target } = route;
    const network = parseCidr(cidr);
    const isInside = network !== undefined && parts.networks.some((each) => isWithin(network, each));
    if (!isInside || parts.desired.claims.has(cidr) || target.kind === "foreign") continue;
    if (target.kind === "unknown") {
      issues.push(openQuestion(target.because));
      continue;
    }
    const failed = parts.pass.failed.get(formatActionKey("delete", formatRouteTarget(table.id, cidr)));
    if (failed === undefined) stale.push(buildStaleRoute(table.id, route, rules));
    else issues.push(toIssue(failed));
  }
  return { stale, issues };
}

/** Returns the stale routes to delete now, and why others wait. Stopped deletions are in neither. */
export function judgeStaleRoutes(
  stale: readonly StaleRoute[],
  { stop }: StaleRules,
  proof: NodeProof,
): { readonly deletions: readonly Step[]; readonly waiting: readonly Issue[] } {
  const deletions: Step[] = [];
  const waiting: Issue[] = [];
  for (const route of stale) {
    const { waitSeconds, deletion, isLive, cidr } = route;
    if (waitSeconds > 0) waiting.push({ ...UNCONFIRMED, afterSeconds: Math.ceil(waitSeconds) });
    else if (isStopped(route, stop)) continue;
    else if (proof.isComplete && (!isLive || proof.isUnclaimed(cidr))) deletions.push(deletion);
    else waiting.push(createIncompleteNodesIssue(proof));
  }
  return { deletions, waiting };
}

/**
 * Returns whether the stop switch holds the deletion. If the stop is unknown, a route is deleted only after
 * the end of its instance.
 */
export function isStopped({ isLive }: StaleRoute, stop: Stop | undefined): boolean {
  return stop === "unproven" ? isLive : stop !== undefined;
}

/** Returns the IDs that a report contains, so that the next event tells how long ago that was. */
export function listCandidateIds(stale: readonly StaleRoute[]): readonly string[] {
  // The longest waiting ones stay included, otherwise a table with many stale routes would never be finished.
  return stale
    .toSorted((a, b) => a.waitSeconds - b.waitSeconds || (a.id < b.id ? -1 : 1))
    .slice(0, MAX_CANDIDATES)
    .map(({ id }) => id);
}

const UNCONFIRMED = {
  code: "StaleRoutes",
  message: "a route leads to no node, and is deleted when a later look finds the same",
} as const;

/**
 * Returns the issue that the event's nodes are not proven to be all of the cluster's: the sender's list may
 * be older.
 */
export function createIncompleteNodesIssue({ gap }: NodeProof): Issue {
  const message = `a route stays as it is until the nodes agree: ${gap}`;
  return { code: "NodesIncomplete", message, afterSeconds: 5, isOpen: true };
}

function buildStaleRoute(
  table: string,
  { cidr, text, target, leadsTo }: Route,
  rules: StaleRules,
): StaleRoute {
  const id = `${table} ${cidr} ${leadsTo ?? (target.kind === "machine" ? target.id : target.kind)}`;
  const isLive = target.kind === "machine";
  const isConfirmed = rules.isSweep && !isLive;
  const parameters = { table, cidr: text ?? cidr, ...(leadsTo === undefined ? {} : { leadsTo }) };
  return {
    cidr,
    id,
    isLive,
    deletion: { action: "delete", target: formatRouteTarget(table, cidr), parameters },
    waitSeconds: isConfirmed ? 0 : Math.max(0, CONFIRMED_SECONDS - (rules.waited.get(id) ?? 0)),
  };
}
