import { checkDeferredWrites } from "#core/check-deferred-writes.ts";
import type { ObjectCount, Subject } from "#core/controller.ts";
import type { ClusterEvent, ClusterWrite, Decision, Plan } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { isSameJson } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { admit, NO_CLAIM } from "#core/node-lifecycle/fleet-brake.ts";
import {
  type FleetBrakeState,
  formatFleetRecord,
  readFleetRecord,
  type UnprovenDeletion,
} from "#core/node-lifecycle/fleet-record.ts";
import { type DeletionState, readState, STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import type { DeferredWrites } from "#core/report.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Settings } from "#core/settings.ts";
import { carryOut } from "#test/core/node/carry-out.ts";
import { buildSettings } from "#test/core/node-lifecycle/builders.ts";

/** The ConfigMap on the simulated API server. */
interface ConfigMap {
  readonly apiVersion: "v1";
  readonly kind: "ConfigMap";
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}

/** An actor: one invocation of the function. */
export interface Decider {
  /** By its own clock. */
  readonly now: Date;
  readonly clock: string;
}

/** The outcome of one node in a pass. */
export interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly kind: Decision["kind"];
  readonly afterSeconds: number | undefined;
  readonly events: readonly ClusterEvent[];
}

/** A deletion that the API server carried out. */
export interface DeletedNode {
  readonly uid: string;
  readonly nodesBefore: number;
}

/** A fleet's shared record, as one cluster sees it. */
export interface FleetMember {
  readonly cluster: string;
  readonly store: FleetStore;
}

/** A record that is replaced by compare-and-swap. */
export interface FleetStore {
  readonly current: () => { readonly text: string; readonly version: number };
  /** Whether no other actor was first. */
  readonly swap: (text: string, version: number) => boolean;
}

/**
 * A simulated cluster whose nodes are decided step by step, as in the function, so that several passes can
 * interleave.
 */
export function createWorld(
  nodes: readonly Node[],
  settings: Settings = buildSettings(),
  fleet?: FleetMember,
) {
  const listed = new Map(nodes.map((node) => [node.metadata.uid, node]));
  const deleted: DeletedNode[] = [];
  let version = 1_000;
  let configMap: ConfigMap | undefined = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { uid: "state-uid", resourceVersion: "1" },
    data: {},
  };
  let writes = 0;
  let reads = 0;

  const world = {
    settings,
    listed,
    deleted,
    writes: () => writes,
    reads: () => reads,
    /** The API server's count of nodes; by default the true number. */
    count: undefined as ObjectCount | undefined,
    state(): DeletionState {
      const read = readState(
        configMap === undefined ? { kind: "absent" } : { kind: "object", object: configMap },
      );
      if (read.kind === "unusable") throw new Error(read.message);
      return read.state;
    },
    /** Another client writes to the ConfigMap. */
    edit(data: Readonly<Record<string, string>> | undefined): void {
      configMap =
        data === undefined
          ? undefined
          : {
              apiVersion: "v1",
              kind: "ConfigMap",
              metadata: { uid: "state-uid", resourceVersion: `${++version}` },
              data,
            };
    },
    put(node: Node): void {
      listed.set(node.metadata.uid, {
        ...node,
        metadata: { ...node.metadata, resourceVersion: `${++version}` },
      });
    },
    /** A pass over the nodes in their state at its beginning. */
    pass: (decider: Decider, answers: ReadonlyMap<string, InstanceAnswer>) => steps(decider, answers),
    /** A whole pass without interruption. */
    run(decider: Decider, answers: ReadonlyMap<string, InstanceAnswer>): ReadonlyMap<string, Outcome> {
      const pass = world.pass(decider, answers);
      for (;;) {
        const step = pass.next();
        if (step.done) return step.value;
      }
    },
  };

  function* steps(
    { now, clock }: Decider,
    answers: ReadonlyMap<string, InstanceAnswer>,
  ): Generator<string, ReadonlyMap<string, Outcome>> {
    const ask = { reason: "monitor", now, related: {}, settings } as const;
    let batch = [...answers.keys()].flatMap((uid): Subject<Node, InstanceAnswer>[] => {
      const object = listed.get(uid);
      if (object === undefined) return [];
      const isAsked = nodeLifecycleController.buildQuestion(object, ask) !== undefined;
      return [{ object, answer: isAsked ? answers.get(uid) : undefined, hint: undefined }];
    });
    const outcomes = new Map<string, Outcome>();
    let phase = NO_CLAIM;
    yield "asked";
    for (let round = 0; round < 6 && batch.length > 0; round += 1) {
      const reference = nodeLifecycleController.getStateReference?.(batch, ask);
      const read = configMap;
      if (reference !== undefined) reads += 1;
      yield "state read";
      const count: ObjectCount = world.count ?? { kind: "count", count: listed.size };
      const decide = (): Plan =>
        nodeLifecycleController.decide(batch, {
          ...ask,
          clock,
          fleet: fleet && phase,
          ...(reference === undefined
            ? {}
            : { state: read === undefined ? { kind: "absent" } : { kind: "object", object: read } }),
          ...(reference?.counted === undefined ? {} : { count }),
        });
      let plan = decide();
      expectTaken(plan, { batch, read, count, settings, now, clock });
      yield "decided";
      if (fleet !== undefined && plan.kind === "shared") {
        const asked = (plan.unproven ?? []).filter(({ uid }) => !phase.granted.has(uid));
        if (asked.length > 0) {
          phase = yield* claim(fleet, asked, phase, now);
          if (phase.held !== undefined) plan = decide();
        }
      }
      if (plan.kind === "each") {
        for (const [index, decision] of plan.decisions.entries()) {
          const subject = batch[index];
          if (subject === undefined) continue;
          const { uid } = subject.object.metadata;
          yield `applies ${decision.kind}`;
          outcomes.set(uid, apply(subject.object, decision));
        }
        return outcomes;
      }
      swap(plan.write);
      yield "swapped";
      batch = batch.flatMap(({ object, answer }) => {
        const fresh = listed.get(object.metadata.uid);
        if (fresh === undefined) return [];
        const same = isSameJson(
          nodeLifecycleController.buildQuestion(fresh, ask),
          nodeLifecycleController.buildQuestion(object, ask),
        );
        const isKept =
          same || (answer !== undefined && nodeLifecycleController.buildQuestion(fresh, ask) !== undefined);
        return [{ object: fresh, answer: isKept ? answer : undefined, hint: undefined }];
      });
      yield "read again";
    }
    return outcomes;
  }

  /** At most three tries, as in the function. */
  function* claim(
    { cluster, store }: FleetMember,
    deletions: readonly UnprovenDeletion[],
    { granted }: FleetBrakeState,
    now: Date,
  ): Generator<string, FleetBrakeState> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { text, version: read } = store.current();
      const stored = readFleetRecord(text);
      if (stored.kind === "unusable")
        return { granted, held: { code: "FleetBrakeUnusable", message: stored.message } };
      yield "fleet read";
      const { granted: more, hold, next } = admit(stored.record, { cluster, deletions, now });
      if (next !== undefined && !store.swap(formatFleetRecord(next), read)) continue;
      yield "fleet swapped";
      return { granted: new Set([...granted, ...more]), held: hold };
    }
    return { granted, held: { code: "FleetBrakeContended", message: "others were first" } };
  }

  /** Compare-and-swap: a late writer changes nothing. */
  function swap(write: ClusterWrite): void {
    if (write.verb !== "update") throw new Error(`the state is never written by ${write.verb}`);
    if (configMap === undefined || !isSameJson(configMap.metadata, write.precondition)) return;
    writes += 1;
    const data = write.body["data"] as Record<string, string>;
    configMap = { ...configMap, metadata: { uid: "state-uid", resourceVersion: `${++version}` }, data };
  }

  function apply(object: Node, decision: Decision): Outcome {
    const outcome = {
      kind: decision.kind,
      code: decision.because.code,
      message: decision.because.message,
      afterSeconds: decision.kind === "retry" ? decision.afterSeconds : undefined,
      events: "events" in decision ? decision.events : [],
    };
    if (decision.kind !== "change") return outcome;
    const { uid } = object.metadata;
    const stored = listed.get(uid);
    for (const write of decision.writes) {
      if (write.on !== "cluster") throw new Error("the cloud is never written");
      if (write.verb === "delete") {
        const isThat = stored?.metadata.resourceVersion === write.precondition.resourceVersion;
        if (stored === undefined || !isThat || write.precondition.uid !== uid)
          return { ...outcome, code: "Conflict" };
        deleted.push({ uid, nodesBefore: listed.size });
        listed.delete(uid);
      } else if (stored !== undefined) world.put(carryOut(stored, decision));
    }
    return outcome;
  }

  return world;
}

interface Decided {
  readonly batch: readonly Subject<Node, InstanceAnswer>[];
  readonly read: ConfigMap | undefined;
  readonly count: ObjectCount;
  readonly settings: Settings;
  readonly now: Date;
  readonly clock: string;
}

/** A relay that writes for the function accepts every decision of these histories. */
function expectTaken(plan: Plan, { batch, read, count, settings, now, clock }: Decided): void {
  const next: DeferredWrites["next"] =
    plan.kind === "shared"
      ? { kind: "shared", because: plan.because, write: plan.write }
      : {
          kind: "decisions",
          items: plan.decisions.map((decision, index) => ({ index, decision: { ...decision } })),
        };
  const fault = checkDeferredWrites(
    { moment: { now: now.toISOString(), clock }, next },
    {
      identity: "node-lifecycle",
      resource: NODES,
      objects: new Map(batch.map(({ object }, index) => [index, object])),
      relatedUids: new Set(),
      state: {
        reference: STATE,
        read: read === undefined ? { kind: "absent" } : { kind: "object", object: read },
      },
      ...{ count, keys: { labelPrefixes: [] }, deletion: settings.nodes.deletion, now },
    },
  );
  if (fault !== undefined) throw new Error(`a relay would not write it: ${fault}`);
}

/** The data of a ConfigMap with this document. */
export function buildConfigMapData(document: unknown): Readonly<Record<string, string>> {
  return { [STATE_KEY]: typeof document === "string" ? document : JSON.stringify(document) };
}
