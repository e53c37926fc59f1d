import { OPERATED_CONTROLLERS } from "#core/controllers.ts";
import type { ControllerName } from "#core/event.ts";

/**
 * Returns those of a cluster's controllers that the other cloud-controller-manager also has, by names that
 * `--controllers` of both accepts.
 */
export function listHandedOver(controllers: readonly ControllerName[]): readonly ControllerName[] {
  return OPERATED_CONTROLLERS.filter(
    ({ name, handover }) => handover !== undefined && controllers.includes(name),
  ).map(({ name }) => name);
}

/** Returns which of a cluster's controllers must not run on both sides at once. */
export function listOneAtATime(controllers: readonly ControllerName[]): readonly ControllerName[] {
  return OPERATED_CONTROLLERS.filter(
    ({ name, handover }) => handover?.oneAtATime === true && controllers.includes(name),
  ).map(({ name }) => name);
}

/**
 * Returns the other controller's flag that leaves these controllers to us; controllers that it does not name
 * stay there.
 */
export function formatRemainingFlag(controllers: readonly ControllerName[]): string {
  return `--controllers=${["*", ...controllers.map((name) => `-${name}`)].join(",")}`;
}

/** One version of a node, with the fields by which a hand-over is judged. */
export interface NodeState {
  readonly name: string;
  readonly uid: string;
  readonly ageMs: number;
  readonly isTainted: boolean;
  readonly hasNodeIp: boolean;
  /** Field managers of a cloud-node-controller's fields, and when they wrote, as RFC 3339. */
  readonly writers: readonly { readonly manager: string; readonly at: string }[];
}

/** A problem of a node during the hand-over. */
export type Gap =
  /** The taint was not removed in time. */
  | { readonly code: "TaintedTooLong"; readonly node: string; readonly seconds: number }
  /** It is initialized and has no address, because none was written or all were removed. */
  | { readonly code: "WithoutAddress"; readonly node: string; readonly seconds: number };

/** The observations of a cluster during a hand-over. */
export interface Handover {
  readonly gaps: readonly Gap[];
  /**
   * Nodes that already waited long before the hand-over and still wait: the previous controller could not
   * initialize them either.
   */
  readonly stuckBefore: readonly string[];
  /** The number of nodes that have been waiting for a short time. */
  readonly waiting: number;
  /** By the field manager that initialized them: the number of nodes, and the time of the last one. */
  readonly initialized: ReadonlyMap<string, { readonly nodes: number; readonly lastMs: number }>;
}

/**
 * A node that waits longer is stuck: both controllers need a second or two, and half a minute on a slow
 * cloud.
 */
const TAINTED_TOO_LONG_MS = 30_000;
/**
 * The stock controller removes the taint first and writes addresses afterwards, within less than this time.
 */
const WITHOUT_ADDRESS_MS = 10_000;
/** A node that had waited this long at the start is no problem of the hand-over. */
const STUCK_BEFORE_MS = 60_000;
/** The maximum number of gaps with names. */
const MAX_NAMED = 100;

/** Observes the nodes of a cluster during a hand-over. */
export interface HandoverMonitor {
  /** Records a version of a node. Call it first with the initial versions, then call `begun`. */
  observe(state: NodeState, nowMs: number): void;
  remove(uid: string): void;
  /** Ends the initial list: all existing nodes have been observed once. */
  begun(): void;
  /** Returns the result so far. */
  judge(nowMs: number): Handover;
}

interface Record {
  readonly name: string;
  readonly taintedMs: number | undefined;
  readonly bareMs: number | undefined;
  readonly isStuckBefore: boolean;
}

/**
 * Creates a monitor without observations; `isController` distinguishes managers that initialize nodes from
 * kubelets.
 */
export function createHandoverWitness(isController: (manager: string) => boolean): HandoverMonitor {
  const records = new Map<string, Record>();
  const past: Gap[] = [];
  const initialized = new Map<string, { readonly nodes: number; readonly lastMs: number }>();
  let hasBegun = false;

  function note(gaps: readonly Gap[]): void {
    past.push(...gaps.slice(0, MAX_NAMED - past.length));
  }

  return {
    observe({ name, uid, ageMs, isTainted, hasNodeIp, writers }, nowMs) {
      const before = records.get(uid);
      const isBare = !isTainted && !hasNodeIp;
      const record: Record = {
        name,
        taintedMs: isTainted ? (before?.taintedMs ?? nowMs) : undefined,
        bareMs: isBare ? (before?.bareMs ?? nowMs) : undefined,
        isStuckBefore: before?.isStuckBefore ?? (!hasBegun && isTainted && ageMs >= STUCK_BEFORE_MS),
      };
      // A state that ends with this version counts up to now.
      if (before !== undefined && !isTainted) note(listGaps({ ...before, bareMs: undefined }, nowMs));
      if (before !== undefined && !isBare) note(listGaps({ ...before, taintedMs: undefined }, nowMs));
      records.set(uid, record);
      if (before?.taintedMs === undefined || isTainted) return;
      const [last] = writers
        .filter(({ manager }) => isController(manager))
        .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
      const manager = last?.manager ?? "unknown";
      initialized.set(manager, { nodes: (initialized.get(manager)?.nodes ?? 0) + 1, lastMs: nowMs });
    },
    remove(uid) {
      records.delete(uid);
    },
    begun() {
      hasBegun = true;
    },
    judge(nowMs) {
      const all = [...records.values()];
      const open = all.flatMap((record) => listGaps(record, nowMs));
      const stuck = all.filter(({ isStuckBefore, taintedMs }) => isStuckBefore && taintedMs !== undefined);
      const tainted = all.filter(({ taintedMs }) => taintedMs !== undefined).length;
      const tooLong = open.filter(({ code }) => code === "TaintedTooLong").length;
      return {
        gaps: [...past, ...open].slice(0, MAX_NAMED),
        stuckBefore: stuck.slice(0, MAX_NAMED).map(({ name }) => name),
        waiting: tainted - stuck.length - tooLong,
        initialized: new Map(initialized),
      };
    },
  };
}

function listGaps({ name, taintedMs, bareMs, isStuckBefore }: Record, nowMs: number): readonly Gap[] {
  const gaps: Gap[] = [];
  const seconds = (fromMs: number): number => Math.round((nowMs - fromMs) / 1_000);
  if (taintedMs !== undefined && !isStuckBefore && nowMs - taintedMs >= TAINTED_TOO_LONG_MS)
    gaps.push({ code: "TaintedTooLong", node: name, seconds: seconds(taintedMs) });
  if (bareMs !== undefined && nowMs - bareMs >= WITHOUT_ADDRESS_MS)
    gaps.push({ code: "WithoutAddress", node: name, seconds: seconds(bareMs) });
  return gaps;
}
