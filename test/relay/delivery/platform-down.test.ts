import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event } from "#core/event.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";
import {
  createUnknownHostEndpoint,
  type DeadEndpoint,
  startAnsweringEndpoint,
  startClosingEndpoint,
  startRefusingEndpoint,
  startResettingEndpoint,
  startUnacceptingEndpoint,
} from "#test/platforms/dead-endpoints.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const NODES = 50;
const WINDOW_MS = 4_000;
const MAX_INVOKES = 5;
/** On a loaded machine, eleven relays at once. */
const PATIENCE_MS = 120_000;

const WAYS: readonly { readonly given: string; readonly start: () => Promise<DeadEndpoint> }[] = [
  { given: "connections are refused", start: startRefusingEndpoint },
  { given: "the host is unknown", start: createUnknownHostEndpoint },
  { given: "connections are made and reset", start: startResettingEndpoint },
  { given: "connections are made and closed", start: startClosingEndpoint },
  { given: "no connection is made in time", start: startUnacceptingEndpoint },
  { given: "every answer is 500", start: () => startAnsweringEndpoint(500, "ServiceException") },
  { given: "every answer is 503", start: () => startAnsweringEndpoint(503) },
  { given: "every answer is a gateway's 504", start: () => startAnsweringEndpoint(504) },
  { given: "everything is throttled", start: () => startAnsweringEndpoint(429, "TooManyRequestsException") },
  { given: "everything is denied", start: () => startAnsweringEndpoint(403, "AccessDeniedException") },
  {
    given: "there is no such function",
    start: () => startAnsweringEndpoint(404, "ResourceNotFoundException"),
  },
];

/** A relay's requests to a platform that is down in one way. */
interface Asked {
  readonly events: readonly Event[];
  readonly atMs: readonly number[];
}

let world: FunctionUnderTest;
const asked = new Map<string, Asked>();

/** All relays follow the same API server at the same time, because none can write to it. */
beforeAll(async () => {
  world = await startFunction();
  await join(0, 10);
  const runs = await Promise.all(WAYS.map(run));
  // The other nodes join one after another while the platform is down.
  for (let index = 10; index < NODES; index += 1) {
    await join(index, 1);
    await pause((WINDOW_MS * 0.8) / NODES);
  }
  for (const { given, known, atMs } of runs) {
    await waitUntilTrue(`${NODES} nodes to be known if ${given}`, () => known() === NODES, PATIENCE_MS);
    await waitUntilTrue(`a second Invoke if ${given}`, () => atMs.length > 1, PATIENCE_MS);
  }
  const openMs = Math.max(...runs.map(({ atMs }) => atMs[0] ?? 0));
  while (performance.now() - openMs < WINDOW_MS) await pause(50);
  for (const each of runs) asked.set(each.given, await each.end());
  // A gateway's answers have no code of Lambda's.
  expectViolations("lambda:Invoke answer  protocol");
});
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
    // The shortest possible waits.
    random: () => 0,
  });
  const known = (): number => relay.status()[0]?.objects ?? 0;
  return {
    given,
    atMs,
    known,
    async end(): Promise<Asked> {
      await relay.close();
      await counting.close();
      await endpoint.close();
      return { events, atMs };
    },
  };
}

describe(`while Lambda is down, ${NODES} nodes make ${MAX_INVOKES} Invokes in ${WINDOW_MS / 1_000} s at most`, () => {
  test.each(WAYS)("if $given", ({ given }) => {
    const { atMs } = asked.get(given) ?? { atMs: [] };
    const [first = 0] = atMs;
    // It is retried, but not for every node. A loaded machine only makes fewer.
    expect(atMs.length).toBeGreaterThan(1);
    expect(atMs.filter((each) => each - first < WINDOW_MS).length).toBeLessThanOrEqual(MAX_INVOKES);
  });
});
