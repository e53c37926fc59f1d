import type { LookupAddress, lookup } from "node:dns";
import * as net from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAddressJudge } from "#config/address-rules.ts";
import { connect } from "#kube/client/connect.ts";
import { createJudgedLookup, type JudgeAddress } from "#kube/client/judged-lookup.ts";
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
      const socket = net.connect({
        host: "rebinding.example",
        port,
        lookup: createJudgedLookup(judge, resolving),
      });
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

  test("that resolves to another address a moment later is judged again", async () => {
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

  async function ask(host: string, refuses: boolean | JudgeAddress): Promise<unknown> {
    const judgeAddress =
      typeof refuses === "function" ? refuses : (address: string) => `${address} is internal`;
    const transport = connect({
      server: `https://${host}:${new URL(server.url).port}`,
      certificateAuthority: server.certificateAuthority,
      ...(refuses === false ? {} : { judgeAddress }),
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

  // As a tenant may spell this machine; the server of the test is at each of the first ones.
  test.each([
    ...["127.0.0.1", "127.1", "127.0.1", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "2130706433"],
    ...["localhost", "LOCALHOST", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1"],
    ...["0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"],
    ...["[2002:7f00:1::]", "[::127.0.0.1]"],
  ])("never reaches this machine as %s", async (host) => {
    const judgeEntries = createAddressJudge({ trustsEntries: false, networks: [] });
    expect(await ask(host, judgeEntries)).toMatch(
      /^AddressRefused: .*is internal, and in no network of --allowed-networks/,
    );
    expect(arrived).toEqual([]);
  });

  test.each(["169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]"])(
    "never reaches an instance's metadata as %s, even with all networks allowed",
    async (host) => {
      const judgeEntries = createAddressJudge({ trustsEntries: true, networks: ["0.0.0.0/0", "::/0"] });
      expect(await ask(host, judgeEntries)).toMatch(/^AddressRefused: .*no API server is there/);
    },
  );

  test("does not follow whither an answer points", async () => {
    expect([await ask("127.0.0.1", false), arrived]).toEqual([307, ["/api/v1/nodes"]]);
  });
});
