import { describe, expect, test } from "vitest";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { createReadPermits } from "#kube/follow/read-permits.ts";
import { createManualClock, type ManualClock, waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";

const LONGEST_TURN_MS = 500;

describe("requests of many clusters for large answers", () => {
  test("are sent four at a time, in their order", async () => {
    const { servers, ask } = world(6);
    const asked = servers.map((_, index) => ask(index));
    await waitUntilQuiet();
    expect(sent(servers)).toEqual([0, 1, 2, 3]);
    servers[2]?.answer();
    await asked[2];
    await waitUntilQuiet();
    expect(sent(servers)).toEqual([0, 1, 2, 3, 4]);
  });

  test("do not wait for servers that hang longer than a turn lasts", async () => {
    const { servers, ask, clock } = world(9);
    servers.forEach((_, index) => void ask(index));
    await waitUntilQuiet();
    await clock.advance(LONGEST_TURN_MS);
    expect(sent(servers)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // A request whose permit expired ends without passing a permit on.
    servers[0]?.answer();
    await waitUntilQuiet();
    expect(sent(servers)).toHaveLength(8);
  });

  test.each([
    ["fails", (server: SlowServer) => server.fail()],
    ["answers", (server: SlowServer) => server.answer()],
  ])("the permit of a request that %s goes to the next one", async (_, end) => {
    const { servers, ask } = world(5);
    servers.forEach((_, index) => void ask(index).catch(() => {}));
    await waitUntilQuiet();
    const first = servers[0];
    if (first !== undefined) end(first);
    await waitUntilQuiet();
    expect(sent(servers)).toEqual([0, 1, 2, 3, 4]);
  });

  test("a request that is abandoned while it waits takes no permit", async () => {
    const { servers, ask } = world(6);
    const givenUp = new AbortController();
    servers.forEach((_, index) => void ask(index, index === 4 ? givenUp.signal : undefined));
    await waitUntilQuiet();
    givenUp.abort();
    servers[0]?.answer();
    await waitUntilQuiet();
    expect(servers[5]?.requests).toHaveLength(1);
  });
});

interface SlowServer extends Transport {
  readonly requests: ApiRequest[];
  answer(): void;
  fail(): void;
}

function world(count: number): {
  readonly servers: readonly SlowServer[];
  readonly clock: ManualClock;
  ask(index: number, signal?: AbortSignal): Promise<ApiResponse>;
} {
  const clock = createManualClock();
  const turns = createReadPermits(clock);
  const servers = Array.from({ length: count }, slowServer);
  const taken = servers.map((server) => turns.wrapTransport(server));
  const request: ApiRequest = { method: "GET", path: "/api/v1/nodes" };
  return {
    servers,
    clock,
    ask: async (index, signal) => {
      const transport = taken[index];
      if (transport === undefined) throw new Error(`there is no server ${index}`);
      return transport.send(signal === undefined ? request : { ...request, signal });
    },
  };
}

/** A server that answers on command. */
function slowServer(): SlowServer {
  const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
  const requests: ApiRequest[] = [];
  return {
    requests,
    send: (request) => {
      requests.push(request);
      return promise;
    },
    stream: () => Promise.reject(new Error("not asked for")),
    close: async () => {},
    answer: () => resolve({ status: 200, headers: {}, body: "{}" }),
    fail: () => reject(new Error("lost")),
  };
}

function sent(servers: readonly SlowServer[]): number[] {
  return servers.flatMap(({ requests }, index) => (requests.length > 0 ? [index] : []));
}
