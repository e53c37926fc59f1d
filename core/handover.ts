import type { ControllerName } from "#core/event.ts";

/** Controllers that one of two cloud-controller-managers has, by the names that `--controllers` of either takes. */
const HANDED_OVER: readonly ControllerName[] = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-lb-controller",
  "node-route-controller",
  "tagging",
];

/** Those of a cluster's controllers that the other controller has, too, and that can be handed over. */
export function handedOver(controllers: readonly ControllerName[]): readonly ControllerName[] {
  return HANDED_OVER.filter((name) => controllers.includes(name));
}

/** The other's flag under which it leaves these controllers to us; those that it does not name stay there. */
export function flagWithout(controllers: readonly ControllerName[]): string {
  return `--controllers=${["*", ...controllers.map((name) => `-${name}`)].join(",")}`;
}

/** A node as a version of it shows it, as far as a hand-over is judged by it. */
export interface NodeState {
  readonly name: string;
  readonly uid: string;
  readonly ageMs: number;
  readonly isTainted: boolean;
  readonly hasNodeIp: boolean;
  /** Field managers that wrote what a cloud-node-controller writes, and when, RFC 3339. */
  readonly writers: readonly { readonly manager: string; readonly at: string }[];
}

/** What was wrong with a node while it was handed over. */
export type Gap =
  /** Nobody took the taint away. */
  | { readonly code: "TaintedTooLong"; readonly node: string; readonly seconds: number }
  /** It is initialized and nobody gave it an address, or somebody took its addresses away. */
  | { readonly code: "WithoutAddress"; readonly node: string; readonly seconds: number };

/** What has been seen of a cluster while it was handed over. */
export interface Handover {
  readonly gaps: readonly Gap[];
  /** Nodes that waited for long before, and still do: whoever had them could not help them either. */
  readonly stuckBefore: readonly string[];
  /** Nodes that still wait, and not for long. */
  readonly waiting: number;
  /** By the field manager that initialized them: how many nodes, and when the last. */
  readonly initialized: ReadonlyMap<string, { readonly nodes: number; readonly lastMs: number }>;
}

/** A node that waits for so long waits for nobody: both controllers take a second or two, and half a minute where the cloud is slow. */
const TAINTED_TOO_LONG_MS = 30_000;
/** The stock controller takes the taint first and writes addresses after it; so long that does not take. */
const WITHOUT_ADDRESS_MS = 10_000;
/** Who waited for that long when it began is none of the hand-over's. */
const STUCK_BEFORE_MS = 60_000;
/** How many gaps are named; all the others are like them. */
const MAX_NAMED = 100;

/** Watches over a hand-over. */
export interface HandoverWitness {
  /** A version of a node was seen. Versions that are there at the beginning come first, followed by `begun`. */
  seen(state: NodeState, nowMs: number): void;
  gone(uid: string): void;
  /** All nodes that there are have been seen once. */
  begun(): void;
  /** What there is to say by now. */
  judge(nowMs: number): Handover;
}

interface Record {
  readonly name: string;
  readonly taintedMs: number | undefined;
  readonly bareMs: number | undefined;
  readonly isStuckBefore: boolean;
}

/** Makes a witness that has seen nothing; `isController` tells the managers that initialize nodes from kubelets. */
export function createHandoverWitness(isController: (manager: string) => boolean): HandoverWitness {
  const records = new Map<string, Record>();
  const past: Gap[] = [];
  const initialized = new Map<string, { readonly nodes: number; readonly lastMs: number }>();
  let hasBegun = false;

  function note(gaps: readonly Gap[]): void {
    past.push(...gaps.slice(0, MAX_NAMED - past.length));
  }

  return {
    seen({ name, uid, ageMs, isTainted, hasNodeIp, writers }, nowMs) {
      const before = records.get(uid);
      const isBare = !isTainted && !hasNodeIp;
      const record: Record = {
        name,
        taintedMs: isTainted ? (before?.taintedMs ?? nowMs) : undefined,
        bareMs: isBare ? (before?.bareMs ?? nowMs) : undefined,
        isStuckBefore: before?.isStuckBefore ?? (!hasBegun && isTainted && ageMs >= STUCK_BEFORE_MS),
      };
      // What ended with this version counts as long as it lasted.
      if (before !== undefined && !isTainted) note(gapsOf({ ...before, bareMs: undefined }, nowMs));
      if (before !== undefined && !isBare) note(gapsOf({ ...before, taintedMs: undefined }, nowMs));
      records.set(uid, record);
      if (before?.taintedMs === undefined || isTainted) return;
      const [last] = writers
        .filter(({ manager }) => isController(manager))
        .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
      const manager = last?.manager ?? "unknown";
      initialized.set(manager, { nodes: (initialized.get(manager)?.nodes ?? 0) + 1, lastMs: nowMs });
    },
    gone(uid) {
      records.delete(uid);
    },
    begun() {
      hasBegun = true;
    },
    judge(nowMs) {
      const all = [...records.values()];
      const open = all.flatMap((record) => gapsOf(record, nowMs));
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

function gapsOf({ name, taintedMs, bareMs, isStuckBefore }: Record, nowMs: number): readonly Gap[] {
  const gaps: Gap[] = [];
  const seconds = (fromMs: number): number => Math.round((nowMs - fromMs) / 1_000);
  if (taintedMs !== undefined && !isStuckBefore && nowMs - taintedMs >= TAINTED_TOO_LONG_MS)
    gaps.push({ code: "TaintedTooLong", node: name, seconds: seconds(taintedMs) });
  if (bareMs !== undefined && nowMs - bareMs >= WITHOUT_ADDRESS_MS)
    gaps.push({ code: "WithoutAddress", node: name, seconds: seconds(bareMs) });
  return gaps;
}
