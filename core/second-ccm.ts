import { FIELD_MANAGER, NODE_EVENT_SOURCE, NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import { type CcmController, memberAt, writersOf } from "#core/node-writers.ts";
import { shown } from "#core/shown-text.ts";

/** What of a cluster tells whether another cloud-controller-manager works there: objects as the API server has them. */
export interface ClusterTraces {
  /** Nodes with their `managedFields`. */
  readonly nodes: readonly unknown[];
  /** Events of any age; those that no cloud-controller-manager wrote are left out. */
  readonly events: readonly unknown[];
  /** Leases of kube-system, where they may be read: by its own a manager shows life every few seconds. */
  readonly leases?: readonly unknown[];
}

/** One of its controllers, and what it was last seen to do. */
export interface SeenController {
  readonly name: CcmController;
  /** RFC 3339. */
  readonly lastSeen: string;
  readonly by: "node" | "event";
  /** Whether that is within `WINDOW_MS`. */
  readonly isRecent: boolean;
}

/** Another cloud-controller-manager that left traces in a cluster. */
export interface SecondCcm {
  /** Its field manager, which is its program's name; fit to be shown. `unknown` where its Events do not name it. */
  readonly manager: string;
  /** Of all its traces the newest; RFC 3339. */
  readonly lastSeen: string;
  /** Whether it was seen within `WINDOW_MS`; what has nothing to do writes nothing, and only a Lease shows it. */
  readonly isLive: boolean;
  /** Those that were ever seen, by their names. */
  readonly controllers: readonly SeenController[];
}

/** How long a trace says that its writer is alive: 10 minutes, two rounds of the stock controller's refresh of addresses. */
export const WINDOW_MS = 600_000;

/** How many are told apart; who may write nodes can make up names without end. */
export const MAX_SECOND_CCMS = 10;

/**
 * The cloud-controller-managers beside this one that left traces, the last seen first: managers of fields of nodes whose name is
 * one's, senders of Events with the sources that the stock controllers have, and the holder of the Lease that they elect a leader by.
 * Ours has the same sources and is told by its field manager.
 */
export function findSecondCcms(traces: ClusterTraces, now: Date): readonly SecondCcm[] {
  const seen = new Map<string, [Trace, ...Trace[]]>();
  const events = traces.events.flatMap(traceOfEvent);
  const senders = new Set(events.map(({ manager }) => manager).filter((manager) => manager !== UNKNOWN));
  const writers = traces.nodes
    .flatMap(writersOf)
    .filter(({ manager }) => isCcm(manager) || senders.has(manager))
    .map(({ manager, at, controller }): Trace => ({ manager, at, did: { name: controller, by: "node" } }));
  for (const trace of [...events, ...writers, ...(traces.leases ?? []).flatMap(traceOfLease)]) {
    const manager = shown(trace.manager, MAX_MANAGER);
    const known = seen.get(manager);
    if (known === undefined) seen.set(manager, [trace]);
    else known.push(trace);
  }
  return [...seen]
    .map(([manager, all]) => summaryOf(manager, all, now))
    .sort((a, b) => Date.parse(b.lastSeen) - Date.parse(a.lastSeen))
    .slice(0, MAX_SECOND_CCMS);
}

/** Whether a field manager is a cloud-controller-manager by its name, and not this one. */
export function isCcm(manager: string): boolean {
  return manager !== FIELD_MANAGER && CCM_NAME.test(manager);
}

/** `cloud-controller-manager`, `aws-cloud-controller-manager` and so on; Azure's runs a part of it on each node. */
const CCM_NAME = /(^|-)cloud-(controller|node)-manager$/;
/** As long as a field manager may be. */
const MAX_MANAGER = 128;
const UNKNOWN = "unknown";

const CONTROLLERS_BY_SOURCE: ReadonlyMap<unknown, CcmController | undefined> = new Map([
  [NODE_EVENT_SOURCE, "cloud-node-controller"],
  [NODE_LIFECYCLE_EVENT_SOURCE, "cloud-node-lifecycle-controller"],
  ["route_controller", "node-route-controller"],
  ["service-controller", "service-lb-controller"],
  // Its leader election, which is none of its controllers.
  ["cloud-controller-manager", undefined],
]);

/** The Lease that cloud-controller-managers elect their leader by. */
const LEADER_LEASE = "cloud-controller-manager";

interface Trace {
  readonly manager: string;
  readonly at: string;
  /** What was done, where that is one controller's. */
  readonly did?: Pick<SeenController, "name" | "by">;
}

function traceOfEvent(event: unknown): Trace[] {
  const source = memberAt(event, "source", "component") || memberAt(event, "reportingComponent");
  if (!CONTROLLERS_BY_SOURCE.has(source) || isOurs(event)) return [];
  const at = newest(
    [["lastTimestamp"], ["eventTime"], ["firstTimestamp"], ["metadata", "creationTimestamp"]].map((path) =>
      memberAt(event, ...path),
    ),
  );
  if (at === undefined) return [];
  const manager = managersOf(event).find((name) => name !== FIELD_MANAGER) ?? UNKNOWN;
  const name = CONTROLLERS_BY_SOURCE.get(source);
  return [{ manager, at, ...(name === undefined ? {} : { did: { name, by: "event" } }) }];
}

function isOurs(event: unknown): boolean {
  const instance = memberAt(event, "reportingInstance");
  return (
    managersOf(event).includes(FIELD_MANAGER) ||
    (typeof instance === "string" && instance.startsWith(FIELD_MANAGER))
  );
}

function managersOf(object: unknown): readonly string[] {
  const managed = memberAt(object, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  return managed
    .map((entry: unknown) => memberAt(entry, "manager"))
    .filter((name) => typeof name === "string");
}

/** Whoever holds the leader's Lease; one that was released has no holder. */
function traceOfLease(lease: unknown): Trace[] {
  const at = newest([memberAt(lease, "spec", "renewTime")]);
  if (memberAt(lease, "metadata", "name") !== LEADER_LEASE || at === undefined) return [];
  if (!memberAt(lease, "spec", "holderIdentity")) return [];
  return [{ manager: managersOf(lease).find(isCcm) ?? UNKNOWN, at }];
}

function newest(times: readonly unknown[]): string | undefined {
  const [first, ...rest] = times
    .filter((time) => typeof time === "string")
    .filter((time) => !Number.isNaN(Date.parse(time)));
  return first && rest.reduce(newer, first);
}

function newer(a: string, b: string): string {
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

function summaryOf(manager: string, traces: readonly [Trace, ...Trace[]], now: Date): SecondCcm {
  const controllers = new Map<CcmController, SeenController>();
  for (const { at, did } of traces) {
    if (did === undefined) continue;
    const known = controllers.get(did.name);
    if (known !== undefined && newer(known.lastSeen, at) === known.lastSeen) continue;
    controllers.set(did.name, { ...did, lastSeen: at, isRecent: isRecent(at, now) });
  }
  const lastSeen = traces.map(({ at }) => at).reduce(newer);
  return {
    manager,
    lastSeen,
    isLive: isRecent(lastSeen, now),
    controllers: [...controllers.values()].sort((a, b) => a.name.localeCompare(b.name)),
  };
}

/** A clock ahead of ours counts as now. */
function isRecent(at: string, now: Date): boolean {
  return now.getTime() - Date.parse(at) <= WINDOW_MS;
}
