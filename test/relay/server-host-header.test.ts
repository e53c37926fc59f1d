import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { type RelayServer, startRelayServer } from "#relay/server.ts";

const PAGES = ["/", "/healthz", "/readyz", "/readyz/clusters", "/metrics"];
const ALLOWED = ["relay.example.org"];

const servers: RelayServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

async function serve({ isSlow = false } = {}): Promise<RelayServer> {
  const made = createRelayMetrics();
  const metrics = isSlow ? { ...made, text: () => new Promise<string>(() => undefined) } : made;
  const shard = () => ({ self: "a", replicas: ["a"], isCutOff: false, own: 0, all: 1 });
  const server = await startRelayServer({
    ...{ relay: { status: () => [] }, metrics, values: metrics.values, shard },
    ...{ bindAddress: "127.0.0.1", port: 0, allowedHosts: ALLOWED },
  });
  servers.push(server);
  return server;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

function get(port: number, path: string, host?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    const sent = request({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("error", reject).end();
  });
}

describe("a request whose Host header", () => {
  test.each([
    ["is a name that another owner's DNS resolves to the relay", "attacker.example"],
    ["is that name with the relay's port", "attacker.example:10258"],
    ["has an allowed name in front", "relay.example.org.attacker.example"],
    ["has an allowed name behind", "attacker-relay.example.org"],
    ["has an IP address in front", "127.0.0.1.attacker.example"],
    ["has localhost in front", "localhost.attacker.example"],
    ["ends as Services' names do, without being one", "attacker.notsvc"],
    ["has a user in front", "localhost@attacker.example"],
    ["has brackets around a name", "[attacker.example]"],
    ["is a path", "localhost/../attacker.example"],
    ["writes to terminals", "a\u00ffb.example"],
  ])("%s is answered 421 on every page, without content", async (_, host) => {
    const { port } = await serve();
    for (const path of PAGES) {
      const { status, text } = await get(port, path, host);
      expect([path, status]).toEqual([path, 421]);
      expect(text).toMatch(/^the relay does not answer as ".*": .*--allowed-hosts.*\n$/);
    }
  });

  test.each([
    ["the address and port of a pod, as a kubelet's probe sends it", "10.1.2.3:10258"],
    ["an IPv6 address", "[fd00::7]:10258"],
    ["an IPv6 address of a link", "[fe80::1%25eth0]:10258"],
    ["a loopback address", "127.0.0.1"],
    ["localhost", "localhost:10258"],
    ["localhost, spelled otherwise", "LOCALHOST."],
    ["a name of a Service", "relay.monitoring.svc:10258"],
    ["a full name of a Service", "relay.monitoring.svc.cluster.local:10258"],
    ["a name that the operator lists", "relay.example.org"],
    ["a name that the operator lists, spelled otherwise", "Relay.Example.ORG.:443"],
  ])("is %s is answered", async (_, host) => {
    const { port } = await serve();
    for (const path of PAGES) expect([path, (await get(port, path, host)).status]).toEqual([path, 200]);
  });

  test("is missing, as in HTTP/1.0, is answered", async () => {
    const { port } = await serve();
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    socket.end("GET /healthz HTTP/1.0\r\n\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("300 held connections", () => {
  const HELD = 300;

  test.each([
    ["that send nothing", ""],
    ["that send half of a header", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "],
    ["that were answered and stay", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    ["that wait for an answer", "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    [
      "that send half of a body",
      "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000\r\n\r\nhalf",
    ],
  ])("%s block no probe, and at most 200 are kept", async (_, sent) => {
    const { port } = await serve({ isSlow: true });
    let open = 0;
    for (let index = 0; index < HELD; index += 1) {
      const socket = connect({ port, host: "127.0.0.1" });
      sockets.push(socket);
      open += 1;
      socket
        .resume()
        .on("error", () => undefined)
        .on("close", () => {
          open -= 1;
        });
      await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
      if (sent !== "") socket.write(sent);
    }
    for (const path of ["/healthz", "/readyz", "/healthz"])
      expect([path, (await get(port, path)).status]).toEqual([path, 200]);
    await expect.poll(() => open).toBeLessThanOrEqual(200);
    expect(open).toBeGreaterThan(150);
  });
});
