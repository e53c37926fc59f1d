import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event } from "#core/event.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";
import type { Invoker } from "#delivery/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import {
  answering,
  type DeadEndpoint,
  hangingUp,
  ofUnknownHost,
  refusingConnections,
  resetting,
  takingNoConnection,
} from "#test/delivery/dead-endpoints.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

const NODES = 50;
const WINDOW_MS = 4_000;
const MAX_INVOKES = 5;

const WAYS: readonly { readonly given: string; readonly start: () => Promise<DeadEndpoint> }[] = [
  { given: "connections are refused", start: refusingConnections },
  { given: "the host is unknown", start: ofUnknownHost },
  { given: "connections are made and reset", start: resetting },
  { given: "connections are made and closed", start: hangingUp },
  { given: "no connection is made in time", start: takingNoConnection },
  { given: "every answer is 500", start: () => answering(500, "ServiceException") },
  { given: "every answer is 503", start: () => answering(503) },
  { given: "every answer is a gateway's 504", start: () => answering(504) },
  { given: "everything is throttled", start: () => answering(429, "TooManyRequestsException") },
  { given: "everything is denied", start: () => answering(403, "AccessDeniedException") },
  { given: "there is no such function", start: () => answering(404, "ResourceNotFoundException") },
];

/** What a relay asked of a platform that is down in one way. */
interface Asked {
  readonly events: readonly Event[];
  readonly atMs: readonly number[];
  readonly known: number;
}

let world: FunctionUnderTest;
const asked = new Map<string, Asked>();

/** All relays follow the same API server at the same time, as nobody gets to write to it. */
beforeAll(async () => {
  world = await startFunction();
  await join(0, 10);
  const runs = await Promise.all(WAYS.map(run));
  // The others join while the platform is down, one after another.
  for (let index = 10; index < NODES; index += 1) {
    await join(index, 1);
    await pause((WINDOW_MS * 0.8) / NODES);
  }
  const openMs = () => Math.max(...runs.map(({ openSinceMs }) => openSinceMs()));
  while (performance.now() - openMs() < WINDOW_MS) await pause(50);
  for (const each of runs) asked.set(each.given, await each.end());
}, 30_000);
afterAll(() => world?.close());

const join = (from: number, count: number): Promise<unknown> =>
  world.join(...Array.from({ length: count }, (_, index) => `node-${from + index}`));

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function run({ given, start }: (typeof WAYS)[number]) {
  const endpoint = await start();
  const invoker = createLambdaInvoker({
    functionName: () => "node",
    functionTimeoutMs: 30_000,
    maxInFlight: 100,
    client: {
      endpoint: endpoint.url,
      region: "eu-central-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    },
  });
  const events: Event[] = [];
  const atMs: number[] = [];
  const counting: Invoker = {
    invoke(event, signal) {
      events.push(event);
      atMs.push(performance.now());
      return invoker.invoke(event, signal);
    },
    close: () => invoker.close(),
  };
  const relay: Relay = startRelay({
    clusters: [{ cluster: world.cluster, transport: await world.api.transport("relay") }],
    invoker: counting,
    identity: "down",
    nodeStatusUpdateFrequencySeconds: 100_000,
    // The shortest waits that there are.
    random: () => 0,
  });
  return {
    given,
    openSinceMs: () => atMs[0] ?? Number.POSITIVE_INFINITY,
    async end(): Promise<Asked> {
      const known = relay.status()[0]?.objects ?? 0;
      await relay.close();
      await counting.close();
      await endpoint.close();
      return { events, atMs, known };
    },
  };
}

describe(`while Lambda is down, ${NODES} nodes make ${MAX_INVOKES} Invokes in ${WINDOW_MS / 1_000} s at most`, () => {
  test.each(WAYS)("where $given", ({ given }) => {
    const { atMs, known } = asked.get(given) ?? { atMs: [], known: 0 };
    const [first = 0] = atMs;
    const inWindow = atMs.filter((each) => each - first < WINDOW_MS).length;
    expect(known).toBe(NODES);
    // It is tried again, and not by everybody.
    expect(inWindow).toBeGreaterThan(1);
    expect(inWindow).toBeLessThanOrEqual(MAX_INVOKES);
  });
});
