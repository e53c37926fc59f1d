import type { Because, ClusterEvent, Decision } from "#core/decision.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import type { ClusterUsage, ObjectReport } from "#core/report.ts";
import { UP_TO_DATE } from "#core/up-to-date.ts";
import type { Gate } from "#kube/apply/concurrency.ts";
import { type NodeRead, readNode, sendWrite } from "#kube/apply/node-requests.ts";
import type { ObjectEvent } from "#kube/apply/record-events.ts";
import type { Answer } from "#kube/client/answer.ts";
import type { Transport } from "#kube/client/transport.ts";

/** One object of a batch, what was read of it and what was decided. */
export interface ApplyItem {
  /** The object's place in the event. */
  readonly index: number;
  readonly node: Node;
  readonly decision: Decision;
}

/** Decides anew on a node that was read again; policies included. */
export type DecideAgain = (node: Node, index: number) => Decision;

/** What all objects of a batch share. */
export interface ApplyContext {
  readonly transport: Transport;
  readonly decideAgain: DecideAgain;
  readonly gate: Gate;
  /** Once aborted no request starts. */
  readonly deadline: AbortSignal;
  /** Once aborted the requests in flight are given up. */
  readonly giveUp: AbortSignal;
  readonly now: Date;
  /** Counted up. */
  readonly usage: { -readonly [Count in keyof ClusterUsage]: ClusterUsage[Count] };
  /** Set once it is clear that no object of this batch can be written. */
  halted: Stop | undefined;
}

/** What became of an object, and the Events that are to be recorded on it. */
export interface AppliedObject {
  readonly report: ObjectReport;
  readonly events: readonly ObjectEvent[];
}

/** Carries one decision out, deciding again where the object is not as it was read. Never rejects. */
export async function applyDecision(item: ApplyItem, context: ApplyContext): Promise<AppliedObject> {
  const done: Done = { node: item.node, change: undefined, resourceVersion: undefined };
  try {
    let decision = item.decision;
    let conflict: Stop | undefined;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (decision.kind !== "change") return settled(item, decision, done);
      const stop = await carryOut(decision, done, context);
      if (stop === undefined) return changed(item, decision, done);
      if (stop.kind !== "conflict") return stopped(item, stop, done);
      conflict = stop;
      const again = await decideOnFresh(item, done, context);
      if (again.kind === "stop") return stopped(item, again.stop, done);
      decision = again.decision;
    }
    if (decision.kind !== "change") return settled(item, decision, done);
    return stopped(item, conflict ?? CONFLICT, done);
  } catch (error) {
    const message = `a fault of serverless-ccm: ${error instanceof Error ? error.message : String(error)}`;
    return stopped(item, { kind: "retry", because: { code: "Failed", message }, afterSeconds: 60 }, done);
  }
}

/** Writes are tried so often in all; each new try follows a fresh read. */
const MAX_ROUNDS = 4;
/** A request is sent so often in all while the server throttles. */
const MAX_SENDS = 3;
const MAX_MESSAGE = 1_024;

type Change = Extract<Decision, { readonly kind: "change" }>;

/** Why an object is left as it is. */
export type Stop =
  | { readonly kind: "conflict"; readonly because: Because; readonly afterSeconds: number }
  | { readonly kind: "skip"; readonly because: Because }
  | {
      readonly kind: "retry";
      readonly because: Because;
      readonly afterSeconds: number;
      readonly event?: ClusterEvent;
    };

const CONFLICT: Stop = {
  kind: "conflict",
  because: { code: "Conflict", message: "other writers kept changing the node" },
  afterSeconds: 1,
};

const DEADLINE_REACHED: Stop = {
  kind: "retry",
  because: { code: "DeadlineReached", message: "the time of this invocation was up" },
  afterSeconds: 0,
};

/** How far an object has come: the node as it stands after the writes so far. */
interface Done {
  node: Node;
  /** The decision that the last successful write belongs to. */
  change: Change | undefined;
  resourceVersion: string | undefined;
}

/** Sends the writes of a change in order, each only if the one before succeeded; undefined once all did. */
async function carryOut(change: Change, done: Done, context: ApplyContext): Promise<Stop | undefined> {
  for (const write of change.writes) {
    const place = done.change === undefined ? "back" : "front";
    const answer = await throughGate(place, context, () => {
      context.usage.writes += 1;
      return sendWrite(context.transport, write, context.giveUp);
    });
    if (answer.kind === "stop") return answer.stop;
    if (answer.kind !== "applied") return stopFor(answer, done.node, context);
    done.change = change;
    done.resourceVersion = answer.metadata?.resourceVersion;
    done.node = afterWrite(done.node, write.patch);
  }
  return undefined;
}

async function decideOnFresh(
  item: ApplyItem,
  done: Done,
  context: ApplyContext,
): Promise<{ kind: "decision"; decision: Decision } | { kind: "stop"; stop: Stop }> {
  const { name, uid } = item.node.metadata;
  const read = await throughGate("front", context, (): Promise<NodeRead> => {
    context.usage.reads += 1;
    return readNode(context.transport, name, context.giveUp);
  });
  if (read.kind === "stop") return read;
  if (read.kind !== "node") return { kind: "stop", stop: stopFor(read, done.node, context) };
  if (read.node.metadata.uid !== uid) {
    const because = { code: "Replaced", message: `the node was deleted and made again since uid ${uid}` };
    return { kind: "stop", stop: { kind: "skip", because } };
  }
  done.node = read.node;
  return { kind: "decision", decision: context.decideAgain(read.node, item.index) };
}

/** Sends one request when it is its turn, and again where the server throttles; a stop where it may not be sent. */
async function throughGate<Result extends Answer | NodeRead>(
  place: "front" | "back",
  context: ApplyContext,
  send: () => Promise<Result>,
): Promise<Result | { readonly kind: "stop"; readonly stop: Stop }> {
  for (let sends = 1; ; sends += 1) {
    const ticket = await context.gate.enter(sends === 1 ? place : "front", context.deadline);
    if (ticket === undefined) return { kind: "stop", stop: DEADLINE_REACHED };
    if (context.halted !== undefined) {
      ticket.done();
      return { kind: "stop", stop: context.halted };
    }
    const answer = await send().catch((error: unknown) => {
      ticket.done();
      throw error;
    });
    if (answer.kind !== "throttled") {
      ticket.done();
      return answer;
    }
    context.usage.throttled += 1;
    ticket.throttled(answer.retryAfterSeconds);
    if (sends === MAX_SENDS) return answer;
  }
}

/** What an answer other than success means for the object, and for the rest of the batch. */
function stopFor(
  answer: Exclude<Answer, { readonly kind: "applied" }>,
  node: Node,
  context: ApplyContext,
): Stop {
  const because = (code: string): Because => ({ code, message: answer.message });
  switch (answer.kind) {
    case "conflict":
    case "exists":
      context.usage.conflicts += 1;
      return { ...CONFLICT, because: because("Conflict") };
    case "gone":
      return { kind: "skip", because: because("Gone") };
    case "rejected":
      return rejection(answer, node, context.now);
    case "throttled":
      return { kind: "retry", because: because("Throttled"), afterSeconds: answer.retryAfterSeconds };
    case "unauthenticated":
      context.halted = { kind: "retry", because: because("Unauthenticated"), afterSeconds: 5 };
      return context.halted;
    case "unavailable": {
      if (answer.code === "Aborted") return DEADLINE_REACHED;
      const stop: Stop = { kind: "retry", because: because("Unavailable"), afterSeconds: 2 };
      if (answer.code !== undefined && UNREACHED.has(answer.code)) context.halted = stop;
      return stop;
    }
  }
}

/** No connection can be made at all: the other objects of the batch would only wait for the same. */
const UNREACHED: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "UnknownHost",
  "NotTrusted",
  "WrongName",
  "NotHttp2",
  "ConnectFailed",
  "CredentialUnavailable",
  "Closed",
]);

function rejection(
  answer: { readonly status: number; readonly message: string },
  node: Node,
  now: Date,
): Stop {
  const code = answer.status === 403 ? "Forbidden" : "Rejected";
  return {
    kind: "retry",
    because: { code, message: answer.message },
    afterSeconds: rejectionBackOffSeconds(node, now),
    event: {
      type: "Warning",
      reason: "NodeUpdateRejected",
      code,
      message: `The API server does not accept the update of this node: ${answer.message}`.slice(
        0,
        MAX_MESSAGE,
      ),
    },
  };
}

/** As long as the node is old, which doubles the wait each time without any memory; 30 seconds to 10 minutes. */
function rejectionBackOffSeconds(node: Node, now: Date): number {
  const ageSeconds = (now.getTime() - Date.parse(node.metadata.creationTimestamp)) / 1_000;
  return Number.isFinite(ageSeconds) ? Math.round(Math.min(600, Math.max(30, ageSeconds))) : 30;
}

/** The node as it stands after a patch, of the fields that are reported. */
function afterWrite(node: Node, patch: Change["writes"][number]["patch"]): Node {
  let { spec, status } = node;
  for (const operation of patch) {
    if (operation.op !== "add") continue;
    if (operation.path === "/spec/providerID") spec = { ...spec, providerID: operation.value as string };
    if (operation.path === "/status/addresses")
      status = { ...status, addresses: operation.value as NodeAddress[] };
  }
  return { ...node, spec, status };
}

function changed(item: ApplyItem, change: Change, done: Done): AppliedObject {
  const { spec, status } = done.node;
  return {
    report: {
      ...about(item, done),
      outcome: "changed",
      because: change.because,
      wrote: { providerID: spec.providerID ?? "", addresses: status.addresses ?? [] },
      ...(change.warnings.length === 0 ? {} : { warnings: change.warnings }),
    },
    events: change.events.map((event) => ({ object: change.object, event })),
  };
}

/** A decision that writes nothing; after a write of ours in an earlier round, the change is complete all the same. */
function settled(item: ApplyItem, decision: Exclude<Decision, Change>, done: Done): AppliedObject {
  const { because } = decision;
  if (decision.kind === "retry") {
    return {
      report: { ...about(item, done), outcome: "retry", because, afterSeconds: decision.afterSeconds },
      events: decision.events.map((event) => ({ object: decision.object, event })),
    };
  }
  if (because.code !== UP_TO_DATE)
    return { report: { ...about(item, done), outcome: "skipped", because }, events: [] };
  if (done.change !== undefined) return changed(item, done.change, done);
  return { report: { ...about(item, done), outcome: "unchanged", because }, events: [] };
}

function stopped(item: ApplyItem, stop: Stop, done: Done): AppliedObject {
  const { because } = stop;
  if (stop.kind === "skip")
    return { report: { ...about(item, done), outcome: "skipped", because }, events: [] };
  const { name, uid } = item.node.metadata;
  const event = stop.kind === "retry" ? stop.event : undefined;
  return {
    report: { ...about(item, done), outcome: "retry", because, afterSeconds: stop.afterSeconds },
    events: event === undefined ? [] : [{ object: { kind: "Node", name, uid }, event }],
  };
}

function about(
  item: ApplyItem,
  done: Done,
): Pick<ObjectReport, "index" | "name" | "uid" | "resourceVersion"> {
  const { name, uid } = item.node.metadata;
  const { resourceVersion } = done;
  return { index: item.index, name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
