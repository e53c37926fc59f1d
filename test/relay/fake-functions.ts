import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Event } from "#core/event.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { fingerprintNode } from "#core/node/watch.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import type { FakeApi } from "#test/kube/apply/fake-api.ts";
import { buildReport, parseIdentity, type ReportInput } from "#test/relay/report-builders.ts";

/** The result of an invocation; called when the invocation is released. */
export type Behaviour = (event: Event) => Invocation | "work";

/** Functions in memory: they initialize nodes of a fake API server, or behave as the test sets. */
export interface FakeFunctions extends Invoker {
  readonly events: readonly Event[];
  readonly running: () => number;
  /** Returns the number of invocations that their sender abandoned. */
  readonly givenUp: () => number;
  readonly peak: () => number;
  /** Returns the most concurrent invocations that contained the same object. */
  readonly overlaps: () => number;
  behave(behaviour: Behaviour): void;
  /** While held, invocations wait for a release. */
  hold(held: boolean): void;
  /** Releases the oldest waiting invocation. */
  release(): void;
}

export function createFakeFunctions(api: FakeApi): FakeFunctions {
  const events: Event[] = [];
  const waiting: (() => void)[] = [];
  const inFlight = new Map<string, number>();
  let behaviour: Behaviour = () => "work";
  let held = false;
  let running = 0;
  let givenUp = 0;
  let peak = 0;
  let overlaps = 0;

  return {
    events,
    running: () => running,
    givenUp: () => givenUp,
    peak: () => peak,
    overlaps: () => overlaps,
    behave(next) {
      behaviour = next;
    },
    hold(value) {
      held = value;
      if (!held) for (const go of waiting.splice(0)) go();
    },
    release: () => waiting.shift()?.(),
    async invoke(event, signal) {
      events.push(structuredClone(event));
      signal.addEventListener("abort", () => {
        givenUp += 1;
      });
      running += 1;
      peak = Math.max(peak, running);
      const uids = event.objects.map((object) => parseIdentity(object).uid);
      for (const uid of uids) {
        inFlight.set(uid, (inFlight.get(uid) ?? 0) + 1);
        overlaps = Math.max(overlaps, inFlight.get(uid) ?? 0);
      }
      if (held) await new Promise<void>((resolve) => waiting.push(resolve));
      const answer = behaviour(event);
      const invocation: Invocation =
        answer === "work"
          ? { kind: "report", report: buildReport(event, (index) => initialize(api, event.objects[index])) }
          : answer;
      running -= 1;
      for (const uid of uids) inFlight.set(uid, (inFlight.get(uid) ?? 1) - 1);
      return invocation;
    },
    close: () => Promise.resolve(),
  };
}

/** The address that a fake cloud reports for every node. */
export const CLOUD_ADDRESS = { type: "InternalIP", address: "10.0.0.1" };
export const PROVIDER_ID = "aws:///eu-central-1a/i-0123456789abcdef0";

/** Changes a node as the node function does, in one write. */
export function initialize(api: FakeApi, object: unknown): ReportInput {
  const node = object as Node;
  const taints = node.spec.taints?.filter((taint) => taint.key !== UNINITIALIZED_TAINT) ?? [];
  const { name, uid } = node.metadata;
  const written = api.put(name, {
    uid,
    spec: { providerID: PROVIDER_ID, taints },
    status: { addresses: [CLOUD_ADDRESS] },
  });
  return {
    outcome: "changed",
    because: { code: "Initialized", message: "initialized" },
    resourceVersion: written.metadata.resourceVersion,
    seen: getFingerprintAfter(node, PROVIDER_ID, [CLOUD_ADDRESS]),
  };
}

/** Returns the fingerprint of a node after provider ID and addresses are written. */
export function getFingerprintAfter(
  sent: Node,
  providerID: string,
  addresses: readonly NodeAddress[],
): string {
  return fingerprintNode({
    ...sent,
    spec: { ...sent.spec, providerID },
    status: { addresses: [...addresses] },
  });
}

/** Fields of a node that waits for its initialization. */
export const TAINTED = {
  spec: { taints: [{ key: UNINITIALIZED_TAINT, effect: "NoSchedule", value: "true" }] },
  status: { addresses: [] },
};

/** Fields of a node that is initialized. */
export const INITIALIZED = { spec: { providerID: PROVIDER_ID }, status: { addresses: [CLOUD_ADDRESS] } };
