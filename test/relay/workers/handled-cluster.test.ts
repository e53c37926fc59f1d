import { expect, test } from "vitest";
import type { Transport } from "#kube/client/transport.ts";
import {
  createHandledCluster,
  createHandledClusterBuffer,
  readHandledCluster,
} from "#relay/workers/handled-cluster.ts";

const NOTHING = Symbol("nothing was ever handled");

/** Creates a transport with these answers and chunks. */
const transport = (pieces: readonly string[]): Transport => ({
  send: async () => ({ status: 200, headers: {}, body: "" }),
  stream: async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      for (const piece of pieces) yield Buffer.from(piece);
    })(),
    close: () => {},
  }),
  close: async () => {},
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const REQUEST = { method: "GET", path: "/" } as const;

test("the cluster whose data is handled is known during that time, and not afterwards", async () => {
  const buffer = createHandledClusterBuffer();
  const handledCluster = createHandledCluster(buffer);
  const seen: unknown[] = [NOTHING];
  const see = (): void => void seen.push(readHandledCluster(buffer));
  see();
  await handledCluster.wrapTransport(transport([]), 7).send(REQUEST);
  see();
  await turn();
  await turn();
  see();
  const stream = await handledCluster.wrapTransport(transport(["one", "two"]), 3).stream(REQUEST);
  see();
  for await (const piece of stream.body) {
    see();
    await turn();
    await turn();
    if (piece.length === 3) see();
  }
  handledCluster.begin(0);
  see();
  await handledCluster.wrapTransport(transport([]), 9).send(REQUEST);
  see();
  await turn();
  await turn();
  see();
  expect(seen).toEqual([NOTHING, undefined, 7, undefined, 3, 3, undefined, 3, undefined, 0, 9, undefined]);
});
