import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActionAnswer } from "#core/capability.ts";
import type { DoneWrite } from "#core/controller.ts";
import type { CloudAction, Decision, Write } from "#core/decision.ts";
import { change, leaveUnchanged, retry, toReference } from "#core/decisions.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { type EmbeddedControl, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type ApplyOptions, type ApplyResult, applyDecisions } from "#kube/apply/apply.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { add, buildNodeWrite, buildTest } from "#test/kube/apply/initialization.ts";

let cluster: ClusterUnderTest;
let control: EmbeddedControl;
let count = 0;

beforeAll(async () => {
  cluster = await startCluster(async (folder) => {
    const plane = await startEmbeddedControlPlane({ folder });
    ({ control } = plane);
    return plane;
  });
});
afterAll(() => cluster?.close());

const join = (): Promise<Node> => cluster.join({ name: `apart-${++count}` });

const BECAUSE = { code: "Apart", message: "each for itself" };

function action(about: Node, target: string, uid = about.metadata.uid): CloudAction {
  return {
    on: "cloud",
    capability: "things",
    action: "make",
    target,
    parameters: {},
    precondition: { uid, deleting: false },
  };
}

function apart(about: Node, writes: readonly Write[]): Decision {
  const reference = toReference(NODES, about);
  return change(reference, writes, { because: BECAUSE, independent: true }) ?? leaveUnchanged(reference);
}

const label = (
  node: Node,
  key: string,
  value = "x",
  tests: readonly ReturnType<typeof buildTest>[] = [],
): Write => buildNodeWrite(node, tests, [add(`/metadata/labels/${key}`, value)]);

interface World {
  readonly applied: ApplyResult;
  /** The inputs of `next`, round by round. */
  readonly told: readonly (readonly DoneWrite[])[];
}

/** Carries one change out; `next` says what follows. */
async function carry(
  decision: Decision,
  about: Node,
  options: Partial<ApplyOptions> & {
    readonly next?: (done: readonly DoneWrite[]) => Decision | undefined;
  } = {},
): Promise<World> {
  const { next = () => leaveUnchanged(toReference(NODES, about)), ...more } = options;
  const told: (readonly DoneWrite[])[] = [];
  const applied = await applyDecisions({
    transport: cluster.functions,
    controller: nodeController,
    items: [{ index: 0, object: about, decision }],
    decide: {
      decideAgain: () => retry(toReference(NODES, about), { code: "Again", message: "read again" }, 1),
      decideNext(_, done) {
        told.push(done);
        return next(done);
      },
    },
    act: async () => ({ kind: "done", result: {} }),
    signal: new AbortController().signal,
    reportingInstance: "apart",
    now: new Date("2026-03-01T12:00:00Z"),
    ...more,
  });
  return { applied, told };
}

const failures = (done: readonly DoneWrite[] | undefined): readonly (string | undefined)[] =>
  (done ?? []).map(({ failed }) => failed?.code);

describe("independent writes", () => {
  it("are all sent, whatever the others' results, and failures are reported", async () => {
    const [about, changed, gone, refused] = await Promise.all([join(), join(), join(), join()]);
    if (!about || !changed || !gone || !refused) throw new Error("no nodes");
    await cluster.remove(gone.metadata.name);
    const writes = [
      label(changed, "a", "x", [buildTest("/metadata/labels/kubernetes.io~1os", "none")]),
      label(gone, "a"),
      label(refused, "a", "-not valid-"),
      action(about, "denied"),
      action(about, "taken"),
      action(about, "made"),
      label(about, "a"),
    ];
    const { applied, told } = await carry(apart(about, writes), about, {
      act: async ({ target }) => ANSWERS[target] ?? { kind: "done", result: { target } },
    });
    expect(failures(told[0])).toEqual([
      "Conflict",
      "Gone",
      "Rejected",
      "Denied",
      "Conflict",
      undefined,
      undefined,
    ]);
    expect(told[0]?.[5]?.result).toEqual({ target: "made" });
    expect(told[0]?.map(({ write }) => write)).toEqual(writes);
    expect((await cluster.read(about.metadata.name)).metadata.labels).toMatchObject({ a: "x" });
    expect(applied.objects).toMatchObject([{ outcome: "changed", because: BECAUSE }]);
    expect(applied.usage).toMatchObject({ writes: 4, reads: 1 });
  });

  const ANSWERS: Readonly<Record<string, ActionAnswer>> = {
    denied: { kind: "error", code: "Denied", message: "no" },
    taken: { kind: "conflict", message: "AlreadyExists" },
  };

  it("are followed by what is decided on them, a bounded number of times", async () => {
    const about = await join();
    let acted = 0;
    const again = apart(about, [action(about, "a")]);
    const { applied, told } = await carry(again, about, {
      next: () => again,
      act: async () => {
        acted += 1;
        return { kind: "error", code: "Throttled", message: "slower" };
      },
    });
    expect([acted, told.length]).toEqual([6, 6]);
    expect(applied.objects).toMatchObject([{ outcome: "retry", because: { code: "InProgress" } }]);
  });

  it("are not sent at all if the object was recreated", async () => {
    const [about, other] = await Promise.all([join(), join()]);
    let acted = 0;
    const writes = [label(other, "a"), action(about, "a", "another-uid")];
    const { applied, told } = await carry(apart(about, writes), about, {
      act: async () => {
        acted += 1;
        return { kind: "done", result: {} };
      },
    });
    expect([acted, told, applied.usage.writes]).toEqual([0, [], 0]);
    expect(applied.objects).toMatchObject([{ outcome: "retry", because: { code: "Again" } }]);
    expect((await cluster.read(other.metadata.name)).metadata.labels).not.toHaveProperty("a");
  });

  it("act on the cloud eight at a time, and read the object once", async () => {
    const about = await join();
    let running = 0;
    let peak = 0;
    const writes = Array.from({ length: 30 }, (_, index) => action(about, `a${index}`));
    const { applied, told } = await carry(apart(about, writes), about, {
      act: async () => {
        running += 1;
        peak = Math.max(peak, running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running -= 1;
        return { kind: "done", result: {} };
      },
    });
    expect([peak, told[0]?.length, applied.usage.reads]).toEqual([8, 30, 1]);
  });

  it("that are not sent when the time is up have failed for that, and nothing follows", async () => {
    const about = await join();
    const deadline = new AbortController();
    let acted = 0;
    const writes = Array.from({ length: 20 }, (_, index) => action(about, `a${index}`));
    const { applied, told } = await carry(apart(about, writes), about, {
      signal: deadline.signal,
      next: () => apart(about, writes),
      act: async () => {
        acted += 1;
        if (acted === 8) deadline.abort();
        return { kind: "done", result: {} };
      },
    });
    expect(acted).toBe(8);
    expect(failures(told[0])).toEqual([...Array(8).fill(undefined), ...Array(12).fill("DeadlineReached")]);
    expect(applied.objects).toMatchObject([{ outcome: "retry", because: { code: "DeadlineReached" } }]);
  });

  it("of a controller that decides nothing on what is left: one that failed is due again", async () => {
    const about = await join();
    const writes = [label(about, "a"), label(about, "b", "-not valid-")];
    const { applied } = await carry(apart(about, writes), about, { next: () => undefined });
    expect(applied.objects).toMatchObject([{ outcome: "retry", because: { code: "Rejected" } }]);
  });

  it("go through the gate, and honour a server that throttles", async () => {
    const about = await join();
    const nodes = await Promise.all(Array.from({ length: 10 }, join));
    control.failNext({ times: 4, code: 429, retryAfterSeconds: 0 });
    const { told, applied } = await carry(
      apart(
        about,
        nodes.map((node) => label(node, "a")),
      ),
      about,
      { maxInFlight: 2 },
    );
    expect(failures(told[0])).toEqual(Array(10).fill(undefined));
    expect(applied.usage).toMatchObject({ writes: 14, throttled: 4 });
  });
});
