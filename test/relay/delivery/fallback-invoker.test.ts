import { expect, test } from "vitest";
import { createProbeEvent } from "#cli/relay/start-health.ts";
import type { Event } from "#core/event.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";
import { createPlatformHealth } from "#relay/delivery/platform-health.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const failed = (code: string, settleMs = 0): Invocation => ({
  kind: "failed",
  code,
  message: `said ${code}`,
  settleMs,
});

const [NODE, CSR] = ["cloud-node-controller", "csr-approver"] as const;

/** Creates a platform with a configurable behaviour that records what it and the process received. */
function given(clusters = 10) {
  const clock = createManualClock();
  const [sent, handled, notes]: [string[], string[], string[]] = [[], [], []];
  let probes = 0;
  let answer: (event: Event) => Invocation = (event) => ({
    kind: "report",
    report: buildReport({ ...event, objects: [] }),
  });
  const platform: Invoker = {
    close: async () => {},
    async invoke(event) {
      if (event.id.startsWith("probe")) probes += 1;
      else sent.push(`${event.cluster}/${event.controller}`);
      return answer(event);
    },
  };
  const inProcess: Invoker = {
    close: async () => {},
    async invoke(event) {
      handled.push(`${event.cluster}/${event.controller}`);
      return { kind: "report", report: buildReport({ ...event, objects: [] }) };
    },
  };
  const health = createPlatformHealth({
    clock,
    clusters: () => clusters,
    probe: async (failure, signal) =>
      (await platform.invoke(createProbeEvent(failure, "probe"), signal)).kind === "report",
    onChange: (note) =>
      notes.push(note.kind === "failed" ? `failed ${note.failure.controller}` : `back ${note.controller}`),
  });
  const onEvent = (): void => {};
  const invoker = createFallbackInvoker(platform, inProcess, { health, clock, onEvent });
  return {
    ...{ clock, sent, handled, notes, health },
    probes: () => probes,
    answers(with_: Invocation | "report") {
      answer = (event) =>
        with_ === "report" ? { kind: "report", report: buildReport({ ...event, objects: [] }) } : with_;
    },
    /** Sends events of these clusters in turn, this many seconds apart. */
    async send(
      count: number,
      apartSeconds: number,
      names: readonly string[] = ["a", "b"],
      of: string = NODE,
    ) {
      const outcomes: string[] = [];
      for (let turn = 0; turn < count; turn += 1) {
        const cluster = names[turn % names.length] ?? "";
        const facts = { controller: of, cluster, clusterHash: "0123456789abcdef" };
        const event = { ...createProbeEvent(facts, `event-${turn}`), objects: [{}] };
        const invocation = await invoker.invoke(event, new AbortController().signal);
        outcomes.push(invocation.kind === "report" ? "report" : invocation.code);
        await clock.advance(apartSeconds * 1_000);
      }
      return outcomes;
    },
  };
}
type World = ReturnType<typeof given>;

/** What happens, and the last outcome of what was sent then. */
test.each<[string, (world: World) => Promise<readonly string[]>, { handled: number; last: string }]>([
  ["a platform that is well", ({ send }) => send(10, 10), { handled: 0, last: "report" }],
  ...["Throttled", "Unreachable"].map(
    (code): [string, (world: World) => Promise<readonly string[]>, { handled: number; last: string }] => [
      `one that refuses (${code}) for half a minute: the very event that shows it is handled`,
      ({ answers, send }) => {
        answers(failed(code));
        return send(4, 10);
      },
      { handled: 1, last: "report" },
    ],
  ),
  [
    "one that refuses for less",
    ({ answers, send }) => {
      answers(failed("Throttled"));
      return send(6, 5);
    },
    { handled: 0, last: "Throttled" },
  ],
  [
    "one that refuses twice, far apart",
    ({ answers, send }) => {
      answers(failed("Unreachable"));
      return send(2, 40);
    },
    { handled: 0, last: "Unreachable" },
  ],
  [
    "failures that are so far apart that they tell nothing",
    ({ answers, send }) => {
      answers(failed("Unreachable"));
      return send(6, 400);
    },
    { handled: 0, last: "Unreachable" },
  ],
  [
    "one that answers in between",
    async ({ answers, send }) => {
      answers(failed("Throttled"));
      await send(3, 9);
      answers("report");
      await send(1, 9);
      answers(failed("Throttled"));
      return send(3, 9);
    },
    { handled: 0, last: "Throttled" },
  ],
  [
    "one that is silent to several clusters: what it may have begun waits until its function has ended",
    async ({ answers, send, handled }) => {
      answers(failed("TimedOut", 3_000));
      const outcomes = await send(4, 32);
      expect([outcomes[2], handled.length]).toEqual(["TimedOut", 1]);
      return outcomes;
    },
    { handled: 1, last: "report" },
  ],
  [
    "one that is silent to one cluster among several",
    ({ answers, send }) => {
      answers(failed("TimedOut", 3_000));
      return send(20, 32, ["a"]);
    },
    { handled: 0, last: "TimedOut" },
  ],
  ...["FunctionError", "BadReport", "Denied", "Rejected", "Abandoned"].map(
    (code): [string, (world: World) => Promise<readonly string[]>, { handled: number; last: string }] => [
      `a function that fails, or may not be invoked (${code})`,
      ({ answers, send }) => {
        answers(failed(code));
        return send(10, 10);
      },
      { handled: 0, last: code },
    ],
  ),
])("%s", async (_, happens, { handled, last }) => {
  const world = given();
  expect((await happens(world)).at(-1)).toBe(last);
  expect(world.handled).toHaveLength(handled);
  await world.health.close();
});

test("silence counts even if it concerns the only cluster", async () => {
  const { answers, send, handled, health } = given(1);
  answers(failed("TimedOut"));
  await send(4, 32, ["a"]);
  expect(handled).toHaveLength(1);
  await health.close();
});

test("other functions follow at once if nothing can be reached, but not if one is throttled", async () => {
  for (const [code, expected] of [
    ["Unreachable", [`failed ${NODE}`, `failed ${CSR}`]],
    ["Throttled", [`failed ${NODE}`]],
  ] as const) {
    const { answers, send, notes, health } = given();
    answers(failed(code));
    await send(4, 10);
    await send(1, 1, ["a"], CSR);
    expect(notes).toEqual(expected);
    await health.close();
  }
});

test("the platform gets the work back after five minutes of success, not before", async () => {
  const { answers, send, sent, handled, notes, probes, clock, health } = given();
  answers(failed("Unreachable"));
  await send(4, 10);
  await clock.advance(600_000);
  expect([notes, probes()]).toEqual([[`failed ${NODE}`], 40 + 0]);

  answers("report");
  await clock.advance(240_000);
  answers(failed("Throttled"));
  await clock.advance(15_000);
  answers("report");
  await clock.advance(299_000);
  const before = [sent.length, handled.length];
  await send(1, 0);
  expect([sent.length, handled.length]).toEqual([before[0], (before[1] ?? 0) + 1]);

  await clock.advance(31_000);
  expect(notes).toEqual([`failed ${NODE}`, `back ${NODE}`]);
  await send(1, 0);
  expect([sent.length, handled.length]).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
  await health.close();
});
