import type { ActionResult, Capability, Cloud, ObservationsResult } from "#clouds/cloud.ts";
import type { EventReason } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type ModelCloud, NO_USAGE } from "./cloud.ts";
import { type ClusterView, createInProcessCluster, type ModelCluster } from "./cluster.ts";
import { createNetwork, type FatedRequest, type Life, type Network } from "./network.ts";
import type { Scenario } from "./scenario.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

/** A cluster, its cloud, and the network between them and any number of actors, on one virtual clock. */
export interface World {
  readonly scenario: Scenario;
  readonly clock: VirtualClock;
  readonly cluster: ModelCluster;
  readonly cloud: ModelCloud;
  readonly network: Network;
  /**
   * Invokes the function as an actor that sees these lists. Resolves with undefined if the actor ended or has
   * nothing to send.
   */
  invoke(invocation: Invocation): Promise<Report | undefined>;
  /** Problems on the way, apart from the end state. */
  readonly violations: string[];
}

/**
 * When reports began to name each deletion candidate, by the uid of the object and the id of the candidate.
 */
type Memory = Map<string, ReadonlyMap<string, number>>;

export interface Invocation {
  readonly actor: string;
  readonly reason: EventReason;
  /** The source of its objects and related objects. */
  readonly view: ClusterView;
  readonly relatedView: ClusterView;
  /** The uids of the Services; by default all in the view. */
  readonly uids?: readonly string[];
  readonly fates?: readonly FatedRequest[];
  /** The duration of a request; by default 0. */
  readonly latencyMs?: number;
}

/** The platform ends a function that takes longer. */
const TIMEOUT_MS = 60_000;

/** The start time of all histories. */
export const START_MS = Date.parse("2026-01-01T00:00:00Z");

/** Creates a world. Worlds with a shared clock have the same time. */
export async function createWorld(scenario: Scenario, sharedClock?: VirtualClock): Promise<World> {
  // A real API server writes its own timestamps.
  const startMs = scenario.createCluster === undefined || sharedClock ? START_MS : Date.now();
  const clock = sharedClock ?? createVirtualClock(startMs);
  const network = createNetwork(clock);
  const cluster = await (scenario.createCluster?.(clock) ??
    createInProcessCluster(clock, CONTROL_PLANE_USERS[scenario.signedInAs]));
  const cloud = await scenario.createCloud();
  const { controller, cluster: entry } = scenario;
  // Loading a module during a history would take real time.
  await controller.load?.(entry.cloud.provider);
  const violations: string[] = [];
  const watched = withViolations(cloud, violations);
  const memories = new Map<string, Memory>();
  let events = 0;

  async function invoke(invocation: Invocation): Promise<Report | undefined> {
    const { actor, reason, view, relatedView, uids, fates = [], latencyMs } = invocation;
    const objects =
      controller.only === undefined
        ? view.services.filter(({ metadata: { uid } }) => uids === undefined || uids.includes(uid))
        : [cluster.kubeSystem];
    if (objects.length === 0) return undefined;
    const life = network.begin(actor, fates, latencyMs);
    const cancel = clock.after(TIMEOUT_MS, life.kill);
    const memory = memories.get(actor) ?? new Map();
    memories.set(actor, memory);
    events += 1;
    const event = {
      version: 1,
      id: `event-${events}`,
      cluster: entry.name,
      clusterHash: entry.hash,
      controller: controller.name,
      reason,
      objects,
      budget: { share: scenario.share ?? 1 },
      hints: hintsFrom(memory, clock.now()),
      related: Object.fromEntries(
        controller.related.map(({ resource, project }) => [
          resource.name,
          {
            resourceVersion: relatedView.revision,
            items: relatedView[resource.name as "nodes" | "services"].flatMap((item) => project(item) ?? []),
          },
        ]),
      ),
    };
    const run = createControllerFunction(controller, {
      clusters: async () => entry,
      cloud: async () => cloudThrough(life, watched, entry.cloud.provider),
      api: async () => transportThrough(life, cluster.transport, clock),
      now: () => clock.wallTime(),
      monotonicMs: () => clock.now(),
    });
    network.note(`${actor} begins: ${reason}`);
    const beganMs = clock.now();
    const running = run(JSON.parse(JSON.stringify(event)), {
      awsRequestId: event.id,
      getRemainingTimeInMillis: () => 10 * TIMEOUT_MS,
    });
    const report = await Promise.race([running, life.ended.then(() => undefined)]);
    cancel();
    if (report === undefined) {
      // A relay's memory ends with the relay.
      memories.delete(actor);
      return undefined;
    }
    remember(memory, report, clock.now());
    violations.push(...faultsOfCalls(actor, life, objects.length, clock.now() - beganMs));
    for (const { name, outcome, because } of report.objects) {
      network.note(`${actor} ends: ${name} ${outcome} ${because.code}`);
      if (because.code === "Failed") violations.push(`${actor} failed on ${name}: ${because.message}`);
    }
    return report;
  }

  return { scenario, clock, cluster, cloud, network, invoke, violations };
}

/**
 * The reads of the API server for one object that an invocation may always make, after conflicts and for what
 * its decision depends on.
 */
const READS_PER_OBJECT = 6;

/** Observations of an invocation: the first one, and one after each conflict of an object. */
const OBSERVATIONS_PER_OBJECT = 5;

/** In addition to these, an object is read at most once a second before the cloud is changed. */
function faultsOfCalls(actor: string, { counts }: Life, objects: number, durationMs: number): string[] {
  const reads = counts.get("cluster read") ?? 0;
  const observations = counts.get("cloud read") ?? 0;
  const seconds = Math.ceil(durationMs / 1_000);
  const readBound = objects * (READS_PER_OBJECT + seconds);
  const observationBound = 1 + objects * OBSERVATIONS_PER_OBJECT;
  return [
    ...(reads > readBound ? [`${actor} read the API server ${reads} times in ${seconds} s`] : []),
    ...(observations > observationBound ? [`${actor} observed the cloud ${observations} times`] : []),
  ];
}

function hintsFrom(memory: Memory, nowMs: number): object {
  const hints = [...memory].map(([uid, candidates]) => [
    uid,
    { candidates: [...candidates].map(([id, sinceMs]) => ({ id, seconds: (nowMs - sinceMs) / 1_000 })) },
  ]);
  return Object.fromEntries(hints);
}

/** A candidate that a report omits starts again when it is named again. */
function remember(memory: Memory, { objects }: Report, nowMs: number): void {
  for (const { uid = "", candidates = [] } of objects) {
    const known = memory.get(uid);
    if (candidates.length === 0) memory.delete(uid);
    else memory.set(uid, new Map(candidates.map((id) => [id, known?.get(id) ?? nowMs])));
  }
}

function transportThrough(life: Life, inner: Transport, clock: VirtualClock): Transport {
  const unreachable = (attempt: string) =>
    new ApiUnreachable({ code: "ConnectionLost", server: "https://in-process", attempt });
  return {
    ...inner,
    send(request) {
      const path = request.path.replace(/\?.*/, "").split("/").slice(-3).join("/");
      const what = `${request.method} ${path}`;
      // Events do not affect decisions.
      if (path.endsWith("/events")) return clock.track(inner.send(request));
      const { signal: _, ...sent } = request;
      return life.send({
        ...{ to: "cluster", what, isChange: request.method !== "GET" },
        carryOut: () => inner.send(sent),
        lost: () => Promise.reject(unreachable(what)),
        throttled: () => ({ status: 503, headers: {}, body: "{}" }),
      });
    },
  };
}

/**
 * Returns the cloud. An unreadable question is a violation, because a function takes it for an outage and
 * changes nothing.
 */
function withViolations(cloud: ModelCloud, violations: string[]): ModelCloud {
  const watch = (inner: Capability): Capability => ({
    observe: (questions, call) =>
      inner.observe(questions, call).catch((error: unknown) => {
        violations.push(`the cloud of the model cannot read a question: ${getErrorMessage(error)}`);
        throw error;
      }),
    act: (action, call) => inner.act(action, call),
  });
  const capabilities = Object.entries(cloud.capabilities).map(([name, inner]) => [name, watch(inner)]);
  return { ...cloud, capabilities: Object.fromEntries(capabilities) };
}

function cloudThrough(life: Life, cloud: ModelCloud, provider: string): Cloud {
  return {
    provider,
    instances: async (nodes) => ({
      answers: nodes.map(() => ({ kind: "error", code: "Unavailable", message: "has no instances" })),
      usage: NO_USAGE,
    }),
    capabilities: Object.fromEntries(
      Object.entries(cloud.capabilities).map(([name, capability]) => [
        name,
        capabilityThrough(life, capability),
      ]),
    ),
    close: async () => {},
  };
}

function capabilityThrough(life: Life, inner: Capability): Capability {
  // The network applies an actor's deadline: its sent requests land nevertheless.
  const { signal } = new AbortController();
  return {
    observe(questions, call) {
      const failed = (code: "Unavailable" | "Throttled"): ObservationsResult => ({
        answers: questions.map(() => ({ kind: "error", code, message: "by the model" })),
        usage: NO_USAGE,
      });
      return life.send({
        ...{ to: "cloud", what: "observes", isChange: false },
        carryOut: () => inner.observe(questions, { ...call, signal }),
        lost: () => failed("Unavailable"),
        throttled: () => failed("Throttled"),
      });
    },
    act(action, call) {
      const failed = (code: "Unavailable" | "Throttled"): ActionResult => ({
        answer: { kind: "error", code, message: "by the model" },
        usage: NO_USAGE,
      });
      return life.send({
        ...{ to: "cloud", what: `${action.action} ${action.target}`, isChange: true },
        carryOut: () => inner.act(action, { ...call, signal }),
        lost: () => failed("Unavailable"),
        throttled: () => failed("Throttled"),
      });
    },
  };
}
