import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildClusterEvent } from "#core/cluster-events.ts";
import type { ClusterEvent } from "#core/decision.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { type EmbeddedControl, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type ApplyOptions, type ApplyResult, applyDecisions } from "#kube/apply/apply.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { createUnreachable } from "#test/kube/apply/fake-api.ts";
import { buildFacts, createDecider, initialize } from "#test/kube/apply/initialization.ts";
import { type Act, startScriptedServer } from "#test/kube/client/scripted-server.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

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

function join(number: number): Promise<Node[]> {
  const names = Array.from({ length: number }, () => `node-${++count}`);
  return Promise.all(names.map((name) => cluster.join({ name })));
}

function bringUp(nodes: readonly Node[], options: Partial<ApplyOptions> = {}): Promise<ApplyResult> {
  return applyDecisions({
    transport: cluster.functions,
    controller: nodeController,
    items: nodes.map((node, index) => ({
      index,
      object: node,
      decision: initialize(node, buildFacts(index)),
    })),
    decide: createDecider(),
    signal: new AbortController().signal,
    reportingInstance: "faults",
    now: new Date("2026-03-01T12:00:00Z"),
    eventsTimeoutMs: 10_000,
    ...options,
  });
}

/** Whether a node has reached its final state. */
async function isUp(node: Node, index: number): Promise<boolean> {
  const now = await cluster.read(node.metadata.name);
  return initialize(now, buildFacts(index)).kind === "unchanged";
}

async function areUp(nodes: readonly Node[]): Promise<number> {
  return (await Promise.all(nodes.map(isUp))).filter((up) => up).length;
}

function outcomes({ objects }: ApplyResult): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome, because } of objects) {
    const key = outcome === "retry" ? because.code : outcome;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe("an API server in trouble", () => {
  it.each([
    { given: "throttles some", act: () => control.failNext({ times: 5, code: 429, retryAfterSeconds: 0 }) },
    { given: "loses the answers of writes it did", act: () => control.loseAnswers(5) },
    { given: "says GOAWAY", act: () => control.goAway() },
    { given: "breaks all connections once", act: () => breakConnections() },
  ])("that $given: the batch is completed all the same", async ({ act }) => {
    const nodes = await join(20);
    act();
    const applied = await bringUp(nodes);
    expect(await areUp(nodes)).toBe(20);
    expect(applied.objects.filter(({ outcome }) => outcome === "retry")).toEqual([]);
  });

  it("fails some requests for good: those objects alone are due again", async () => {
    const nodes = await join(20);
    control.failNext({ times: 3, code: 500, verbs: ["patch"] });
    const applied = await bringUp(nodes);
    expect(outcomes(applied)).toEqual({ Unavailable: 3, changed: 17 });
    expect(await areUp(nodes)).toBe(17);
  });

  it("throttles without end: all are due again after the requested wait", async () => {
    const nodes = await join(4);
    const applied = await bringUp(nodes, { transport: answering({ status: 429, retryAfter: "0" }) });
    expect(outcomes(applied)).toEqual({ Throttled: 4 });
    expect(applied.usage).toMatchObject({ writes: 12, throttled: 12 });
  });

  it.each([
    { given: "503 with HTML", answer: { status: 503, body: "<html>" }, code: "Unavailable" },
    { given: "200 with HTML", answer: { status: 200, body: "<html>" }, code: "Unavailable" },
    { given: "404 with HTML", answer: { status: 404, body: "<html>" }, code: "Unavailable" },
    {
      given: "400 with a Status of the wrong types",
      answer: { status: 400, body: '{"message":7}' },
      code: "Rejected",
    },
    { given: "401", answer: { status: 401 }, code: "Unauthenticated" },
  ])("answers $given: due again as $code", async ({ answer, code }) => {
    const [node] = await join(1);
    const applied = await bringUp(node === undefined ? [] : [node], { transport: answering(answer) });
    expect(outcomes(applied)).toEqual({ [code]: 1 });
  });

  it("does not exist: objects do not wait one after the other", async () => {
    const nodes = await join(40);
    const nowhere = connect({ server: "https://127.0.0.1:1" });
    const applied = await bringUp(nodes, { transport: nowhere, maxInFlight: 4 });
    await nowhere.close();
    expect(outcomes(applied)).toEqual({ Unavailable: 40 });
    expect(applied.usage.writes).toBe(4);
  });

  it("swallows all packets: a batch waits for one connection, once", async () => {
    const nodes = await join(40);
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on("error", () => {})));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const nowhere = connect({ server: `https://127.0.0.1:${port}`, connectTimeoutMs: 200 });
    const applied = await bringUp(nodes, { transport: nowhere, maxInFlight: 4 });
    await nowhere.close();
    // The listener may learn of the connection after its end.
    await waitUntilTrue("the connection", () => sockets.length > 0);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
    expect(outcomes(applied)).toEqual({ Unavailable: 40 });
    expect({ writes: applied.usage.writes, connections: sockets.length }).toEqual({
      writes: 4,
      connections: 1,
    });
  });

  it.each<{ given: string; act: Act; code: string; afterSeconds: number }>([
    { given: "never answers", act: "hang", code: "Unavailable", afterSeconds: 10 },
    {
      given: "answers with megabytes",
      act: { answer: 200, body: `{"a":${"[".repeat(3_000_000)}` },
      code: "ClusterLimited",
      afterSeconds: 30,
    },
    {
      given: "answers with hundreds of thousands of values",
      act: { answer: 200, body: `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}` },
      code: "ClusterLimited",
      afterSeconds: 30,
    },
  ])("that $given is left alone after the first requests in flight", async ({ act, code, afterSeconds }) => {
    const nodes = await join(40);
    const hostile = await startScriptedServer(() => act);
    const { url, certificateAuthority } = hostile;
    const requestTimeoutMs = act === "hang" ? 300 : 20_000;
    const transport = connect({ server: url, certificateAuthority, requestTimeoutMs });
    const applied = await bringUp(nodes, { transport, maxInFlight: 4 });
    await transport.close();
    await hostile.close();
    expect(outcomes(applied)).toEqual({ [code]: 40 });
    expect(new Set(applied.objects.map((object) => object.afterSeconds))).toEqual(new Set([afterSeconds]));
    // One more for each that gave its place up before the third.
    expect(applied.usage.writes).toBeLessThanOrEqual(6);
  });

  it("answers byte by byte: it is left alone soon, on any connection", async () => {
    const nodes = await join(40);
    const hostile = await startScriptedServer(() => ({ piece: " ", pieces: Number.POSITIVE_INFINITY }));
    const { url, certificateAuthority } = hostile;
    const transport = connect({ server: url, certificateAuthority });
    const applied = await bringUp(nodes, { transport, maxInFlight: 4 });
    await transport.close();
    await hostile.close();
    expect(applied.objects.filter(({ outcome }) => outcome !== "retry")).toEqual([]);
    expect(applied.usage.writes).toBeLessThan(20);
  });

  it("leaves two requests unanswered: those objects alone are due again", async () => {
    const nodes = await join(10);
    let writes = 0;
    const transport: Transport = {
      ...cluster.functions,
      send(request) {
        if (request.method === "PATCH") writes += 1;
        return request.method === "PATCH" && writes <= 2
          ? Promise.reject(createUnreachable("TimedOut"))
          : cluster.functions.send(request);
      },
    };
    const applied = await bringUp(nodes, { transport });
    expect(outcomes(applied)).toEqual({ Unavailable: 2, changed: 8 });
  });

  it("abandons an object whose decision cannot be repeated", async () => {
    const [first, second] = await join(2);
    if (first === undefined || second === undefined) throw new Error("two nodes");
    await cluster.patch(first.metadata.name, [{ op: "remove", path: "/spec/taints/0" }]);
    const applied = await bringUp([{ ...first, status: {} }, second], {
      decide: {
        ...createDecider(),
        decideAgain: () => {
          throw new Error("no decision");
        },
      },
    });
    expect(outcomes(applied)).toEqual({ Failed: 1, changed: 1 });
  });

  it("sees a node that conflicts for ever: due again after a bounded number of rounds", async () => {
    const [node] = await join(1);
    if (node === undefined) throw new Error("a node");
    const stale = { ...node, status: {} };
    const applied = await bringUp([stale], {
      decide: { ...createDecider(), decideAgain: () => initialize(stale, buildFacts(0)) },
    });
    expect(applied.objects[0]).toMatchObject({
      outcome: "retry",
      because: { code: "Conflict" },
      afterSeconds: 1,
    });
    expect(applied.usage).toMatchObject({ writes: 4, conflicts: 4, reads: 4 });
  });
});

describe("the deadline", () => {
  it("starts nothing after it, waits for what is in flight and reports all", async () => {
    const nodes = await join(10);
    const deadline = new AbortController();
    const transport = watched(cluster.functions, (number) => {
      if (number === 3) deadline.abort();
    });
    const applied = await bringUp(nodes, { transport, signal: deadline.signal, maxInFlight: 2 });
    const due = applied.objects.filter(({ outcome }) => outcome === "retry");
    expect(applied.objects.map(({ index }) => index)).toEqual(nodes.map((_node, index) => index));
    expect(
      due.every(({ because, afterSeconds }) => because.code === "DeadlineReached" && afterSeconds === 0),
    ).toBe(true);
    expect(applied.usage.writes).toBeLessThanOrEqual(4);
    expect(due.length).toBeGreaterThanOrEqual(8);
  });

  it("gives up what is in flight for longer than the grace", async () => {
    const nodes = await join(3);
    const deadline = new AbortController();
    control.delayRequests(60_000);
    const running = bringUp(nodes, { signal: deadline.signal, graceMs: 20 });
    deadline.abort();
    const applied = await running;
    control.delayRequests(0);
    expect(outcomes(applied)).toEqual({ DeadlineReached: 3 });
  });

  it("already reached: nothing is sent", async () => {
    const nodes = await join(2);
    const applied = await bringUp(nodes, { signal: AbortSignal.abort() });
    expect(outcomes(applied)).toEqual({ DeadlineReached: 2 });
    expect(applied.usage).toEqual({
      writes: 0,
      reads: 0,
      conflicts: 0,
      throttled: 0,
      events: 0,
      eventsDropped: 0,
    });
  });
});

describe("Events", () => {
  it("are dropped and counted where they take too long", async () => {
    const nodes = await join(12);
    const transport = watched(cluster.functions, () => undefined, "hang events");
    const applied = await bringUp(nodes, { transport, eventsTimeoutMs: 30 });
    expect(outcomes(applied)).toEqual({ changed: 12 });
    expect(applied.usage).toMatchObject({ events: 0, eventsDropped: 12 });
  });

  it.each([
    { given: "an initialization's", rejected: false, usage: { events: 0, eventsDropped: 3 } },
    { given: "a warning", rejected: true, usage: { events: 3, eventsDropped: 0 } },
  ])("of a batch behind which others wait: $given", async ({ rejected, usage }) => {
    const nodes = await join(3);
    const transport = rejected ? refusingPatches(cluster.functions) : cluster.functions;
    const applied = await bringUp(nodes, { transport, busy: true });
    expect(applied.usage).toMatchObject(usage);
  });

  it("are sent at most eight at once, after all writes", async () => {
    const nodes = await join(30);
    const sent: ApiRequest[] = [];
    let [now, most] = [0, 0];
    const transport: Transport = {
      ...cluster.functions,
      send: async (request) => {
        sent.push(request);
        if (request.method === "POST") most = Math.max(most, ++now);
        const answer = await cluster.functions.send(request);
        if (request.method === "POST") now -= 1;
        return answer;
      },
    };
    await bringUp(nodes, { transport });
    expect(sent.map(({ method }) => method)).toEqual([...Array(60).fill("PATCH"), ...Array(30).fill("POST")]);
    expect(most).toBe(8);
  });

  it("of type Warning are recorded once in ten minutes if the sender returns their keys", async () => {
    const [node] = await join(1);
    if (node === undefined) throw new Error("a node");
    const event: ClusterEvent = buildClusterEvent("InstanceAmbiguous", "Ambiguous", {});
    const { object } = initialize(node, buildFacts(0));
    const because = { code: "C", message: "m" };
    const decision = { kind: "retry", object, because, afterSeconds: 1, events: [event] } as const;
    const warn = async (said: readonly string[] | undefined, now: string) => {
      const item = { index: 0, object: node, decision: { ...decision, events: [event] }, said };
      const { objects, usage } = await bringUp([node], { items: [item], now: new Date(now) });
      return { said: objects[0]?.said, posts: usage.events, dropped: usage.eventsDropped };
    };
    const first = await warn(undefined, "2026-03-01T12:00:00Z");
    expect(first).toEqual({ said: [expect.any(String)], posts: 1, dropped: 0 });
    const second = await warn(first.said, "2026-03-01T12:09:59Z");
    expect(second).toEqual({ said: first.said, posts: 0, dropped: 0 });
    const next = await warn(second.said, "2026-03-01T12:10:00Z");
    expect(next).toEqual({ said: [expect.any(String)], posts: 1, dropped: 0 });
    expect(next.said).not.toEqual(first.said);
  });

  it("are left out for a change that failed, but said for a retry", async () => {
    const [node] = await join(1);
    if (node === undefined) throw new Error("a node");
    const event: ClusterEvent = buildClusterEvent("InstanceAmbiguous", "Ambiguous", {});
    const { object } = initialize(node, buildFacts(0));
    const because = { code: "C", message: "m" };
    control.failNext({ times: 1, code: 500, verbs: ["patch"] });
    await bringUp([node]);
    await bringUp([node], {
      items: [
        {
          index: 0,
          object: node,
          decision: { kind: "retry", object, because, afterSeconds: 1, events: [event] },
        },
      ],
    });
    expect((await cluster.events(node)).map((recorded) => recorded["reason"])).toEqual(["InstanceAmbiguous"]);
  });
});

/** Breaks what is connected; later connections work. */
function breakConnections(): void {
  control.resetConnections(true);
  control.resetConnections(false);
}

/** An API server, or something before it, that has one answer to everything. */
function answering(answer: { status: number; body?: string; retryAfter?: string }): Transport {
  const response: ApiResponse = {
    status: answer.status,
    headers: { "retry-after": answer.retryAfter },
    body: answer.body ?? "",
  };
  return { ...cluster.functions, send: async () => response };
}

function watched(transport: Transport, onSend: (number: number) => void, hang?: "hang events"): Transport {
  let number = 0;
  return {
    ...transport,
    send: (request) => {
      onSend(++number);
      if (hang === undefined || request.method !== "POST") return transport.send(request);
      return new Promise((_resolve, reject) =>
        request.signal?.addEventListener("abort", () => reject(new Error("aborted"))),
      );
    },
  };
}

/** The server's answer where a role lacks the right to patch nodes; Events pass. */
function refusingPatches(transport: Transport): Transport {
  const body = JSON.stringify({ kind: "Status", reason: "Forbidden", message: "may not" });
  return {
    ...transport,
    send: async (request) =>
      request.method === "PATCH" ? { status: 403, headers: {}, body } : transport.send(request),
  };
}
