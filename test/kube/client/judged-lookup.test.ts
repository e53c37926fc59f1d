import type { LookupAddress, lookup } from "node:dns";
import * as net from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "#kube/client/connect.ts";
import { judgedLookup } from "#kube/client/judged-lookup.ts";
import { type ScriptedServer, startScriptedServer } from "#test/kube/client/scripted-server.ts";

const ELSEWHERE = "192.0.2.1";
/** Refuses what is not this machine, as others refuse what is. */
const judge = (address: string): string | undefined =>
  address === "127.0.0.1" ? undefined : `${address} is not ours`;

describe("a name", () => {
  let server: net.Server;
  beforeEach(async () => {
    server = net.createServer((socket) => socket.on("error", () => {}).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  /** What a socket came to for a name that resolves to something else each time that it is looked up. */
  async function reached(...answers: readonly (readonly string[])[]): Promise<string[]> {
    let looks = 0;
    const resolving = ((
      _name: string,
      _options: object,
      callback: (error: null, found: LookupAddress[]) => void,
    ) => {
      const addresses = answers[looks] ?? [];
      looks += 1;
      callback(
        null,
        addresses.map((address) => ({ address, family: net.isIP(address) })),
      );
    }) as typeof lookup;
    const outcomes: string[] = [];
    for (const _ of answers) {
      const { port } = server.address() as net.AddressInfo;
      const socket = net.connect({ host: "rebinding.example", port, lookup: judgedLookup(judge, resolving) });
      outcomes.push(
        await new Promise<string>((resolve) => {
          socket.once("connect", () => resolve(`${socket.remoteAddress}`));
          socket.once("error", (error) => resolve(error.message));
        }),
      );
      socket.destroy();
    }
    expect(looks).toBe(answers.length);
    return outcomes;
  }

  test("that resolves to another address a moment later is judged anew", async () => {
    expect(await reached(["127.0.0.1"], [ELSEWHERE], ["127.0.0.1"])).toEqual([
      "127.0.0.1",
      `${ELSEWHERE} is not ours`,
      "127.0.0.1",
    ]);
  });

  test("is connected to by those of its addresses alone that may be", async () => {
    expect(await reached([ELSEWHERE, "127.0.0.1", "::1"])).toEqual(["127.0.0.1"]);
  });
});

describe("a transport", () => {
  let server: ScriptedServer;
  let arrived: string[];
  beforeEach(async () => {
    arrived = [];
    server = await startScriptedServer(({ path }) => {
      arrived.push(path);
      return { answer: 307, headers: { location: `${server.url}/elsewhere` } };
    });
  });
  afterEach(() => server.close());

  async function ask(host: string, refuses: boolean): Promise<unknown> {
    const transport = connect({
      server: `https://${host}:${new URL(server.url).port}`,
      certificateAuthority: server.certificateAuthority,
      ...(refuses ? { judgeAddress: (address: string) => `${address} is internal` } : {}),
    });
    try {
      return await transport.send({ method: "GET", path: "/api/v1/nodes" }).then(
        ({ status }) => status,
        ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
      );
    } finally {
      await transport.close();
    }
  }

  test.each(["127.0.0.1", "localhost"])("never reaches %s where it may not, and says why", async (host) => {
    expect(await ask(host, true)).toMatch(
      /^AddressRefused: connect at https:.*--allowed-networks \(.* is internal\)/,
    );
    expect(arrived).toEqual([]);
  });

  test("does not follow whither an answer points", async () => {
    expect([await ask("127.0.0.1", false), arrived]).toEqual([307, ["/api/v1/nodes"]]);
  });
});
