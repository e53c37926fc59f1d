import { FIELD_MANAGER, NODE_EVENT_SOURCE, NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { ControllerName } from "#core/event.ts";
import { getMemberAt, listNodeWriters } from "#core/node-writers.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/**
 * The objects in a cluster that show whether another cloud-controller-manager works there, as on the API
 * server.
 */
export interface ClusterTraces {
  /** Nodes with their `managedFields`. */
  readonly nodes: readonly unknown[];
  /** Events of any age; Events of other components are ignored. */
  readonly events: readonly unknown[];
  /** Leases of kube-system, if readable: a manager renews its own every few seconds. */
  readonly leases?: readonly unknown[];
}

/** One of its controllers, and its last observed work. */
export interface ObservedController {
  readonly name: ControllerName;
  /** RFC 3339. */
  readonly lastSeen: string;
  readonly by: "node" | "event";
  /** Whether `lastSeen` is within `WINDOW_MS`. */
  readonly isRecent: boolean;
}

/** Another cloud-controller-manager that left traces in a cluster. */
export interface SecondCcm {
  /** Its field manager, which is its program's name, sanitized. `unknown` if its Events do not name it. */
  readonly manager: string;
  /** The newest of all its traces, as RFC 3339. */
  readonly lastSeen: string;
  /**
   * Whether it was observed within `WINDOW_MS`; an idle manager writes nothing, and only a Lease shows it.
   */
  readonly isLive: boolean;
  /** All controllers that were ever observed, by name. */
  readonly controllers: readonly ObservedController[];
}

/**
 * How long a trace proves that its writer is alive: 10 minutes, two rounds of the stock controller's refresh
 * of addresses.
 */
export const WINDOW_MS = 600_000;

/** The maximum number of managers; a tenant who can write nodes can invent any number of names. */
export const MAX_SECOND_CCMS = 10;

/**
 * Returns the other cloud-controller-managers that left traces, the latest first. Traces are field managers
 * on nodes with a cloud-controller-manager's name, and the holder of the leader election Lease. Senders of Events
 * with the stock controllers' sources are traces, too. Our own Events have these sources too, and are
 * recognized by their field manager.
 */
export function findSecondCcms(traces: ClusterTraces, now: Date): readonly SecondCcm[] {
  const seen = new Map<string, [Trace, ...Trace[]]>();
  const events = traces.events.flatMap(parseEventTrace);
  const senders = new Set(events.map(({ manager }) => manager).filter((manager) => manager !== UNKNOWN));
  const writers = traces.nodes
    .flatMap(listNodeWriters)
    .filter(({ manager }) => isCcm(manager) || senders.has(manager))
    .map(({ manager, at, controller }): Trace => ({ manager, at, did: { name: controller, by: "node" } }));
  for (const trace of [...events, ...writers, ...(traces.leases ?? []).flatMap(parseLeaseTrace)]) {
    const manager = sanitizeText(trace.manager, MAX_MANAGER);
    const known = seen.get(manager);
    if (known === undefined) seen.set(manager, [trace]);
    else known.push(trace);
  }
  return [...seen]
    .map(([manager, all]) => summarizeTraces(manager, all, now))
    .sort((a, b) => Date.parse(b.lastSeen) - Date.parse(a.lastSeen))
    .slice(0, MAX_SECOND_CCMS);
}

/** Returns whether a field manager has the name of a cloud-controller-manager other than this one. */
export function isCcm(manager: string): boolean {
  return manager !== FIELD_MANAGER && CCM_NAME.test(manager);
}

/**
 * `cloud-controller-manager`, `aws-cloud-controller-manager` and so on; Azure runs a part of its manager on each node.
 */
const CCM_NAME = /(^|-)cloud-(controller|node)-manager$/;
/** The maximum length of a field manager. */
const MAX_MANAGER = 128;
const UNKNOWN = "unknown";

const CONTROLLERS_BY_SOURCE: ReadonlyMap<unknown, ControllerName | undefined> = new Map([
  [NODE_EVENT_SOURCE, "cloud-node-controller"],
  [NODE_LIFECYCLE_EVENT_SOURCE, "cloud-node-lifecycle-controller"],
  ["route_controller", "node-route-controller"],
  ["service-controller", "service-lb-controller"],
  // Its leader election, which is not a controller.
  ["cloud-controller-manager", undefined],
]);

/** The leader election Lease of cloud-controller-managers. */
const LEADER_LEASE = "cloud-controller-manager";

interface Trace {
  readonly manager: string;
  readonly at: string;
  /** The work, if it belongs to one controller. */
  readonly did?: Pick<ObservedController, "name" | "by">;
}

function parseEventTrace(event: unknown): Trace[] {
  const source = getMemberAt(event, "source", "component") || getMemberAt(event, "reportingComponent");
  if (!CONTROLLERS_BY_SOURCE.has(source) || isOurs(event)) return [];
  const at = findNewest(
    [["lastTimestamp"], ["eventTime"], ["firstTimestamp"], ["metadata", "creationTimestamp"]].map((path) =>
      getMemberAt(event, ...path),
    ),
  );
  if (at === undefined) return [];
  const manager = listManagers(event).find((name) => name !== FIELD_MANAGER) ?? UNKNOWN;
  const name = CONTROLLERS_BY_SOURCE.get(source);
  return [{ manager, at, ...(name === undefined ? {} : { did: { name, by: "event" } }) }];
}

function isOurs(event: unknown): boolean {
  const instance = getMemberAt(event, "reportingInstance");
  return (
    listManagers(event).includes(FIELD_MANAGER) ||
    (typeof instance === "string" && instance.startsWith(FIELD_MANAGER))
  );
}

function listManagers(object: unknown): readonly string[] {
  const managed = getMemberAt(object, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  return managed
    .map((entry: unknown) => getMemberAt(entry, "manager"))
    .filter((name) => typeof name === "string");
}

/** The holder of the leader election Lease; a released Lease has no holder. */
function parseLeaseTrace(lease: unknown): Trace[] {
  const at = findNewest([getMemberAt(lease, "spec", "renewTime")]);
  if (getMemberAt(lease, "metadata", "name") !== LEADER_LEASE || at === undefined) return [];
  if (!getMemberAt(lease, "spec", "holderIdentity")) return [];
  return [{ manager: listManagers(lease).find(isCcm) ?? UNKNOWN, at }];
}

function findNewest(times: readonly unknown[]): string | undefined {
  const [first, ...rest] = times
    .filter((time) => typeof time === "string")
    .filter((time) => !Number.isNaN(Date.parse(time)));
  return first && rest.reduce(selectNewer, first);
}

function selectNewer(a: string, b: string): string {
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

function summarizeTraces(manager: string, traces: readonly [Trace, ...Trace[]], now: Date): SecondCcm {
  const controllers = new Map<ControllerName, ObservedController>();
  for (const { at, did } of traces) {
    if (did === undefined) continue;
    const known = controllers.get(did.name);
    if (known !== undefined && selectNewer(known.lastSeen, at) === known.lastSeen) continue;
    controllers.set(did.name, { ...did, lastSeen: at, isRecent: isRecent(at, now) });
  }
  const lastSeen = traces.map(({ at }) => at).reduce(selectNewer);
  return {
    manager,
    lastSeen,
    isLive: isRecent(lastSeen, now),
    controllers: [...controllers.values()].sort((a, b) => a.name.localeCompare(b.name)),
  };
}

/** A time ahead of our clock counts as now. */
function isRecent(at: string, now: Date): boolean {
  return now.getTime() - Date.parse(at) <= WINDOW_MS;
}
