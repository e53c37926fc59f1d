import { Agent, createServer, get, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CountingProxy, startCountingProxy } from "#emulators/harness/counting-proxy.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe("startCountingProxy", () => {
  let proxy: CountingProxy;
  beforeEach(async () => {
    proxy = await proxyTo(tcp(answerInCapitals));
  });

  test("forwards all bytes unchanged, and counts them by direction", async () => {
    expect(await say(proxy, "hello")).toBe("HELLO, YOU SAID");
    expect(proxy.traffic()).toEqual({ connections: 1, upBytes: 5, downBytes: 15 });
  });

  test("adds up all connections, including ended ones", async () => {
    for (const word of ["one", "two", "three"]) await say(proxy, word);
    expect(proxy.traffic()).toEqual({ connections: 3, upBytes: 11, downBytes: 41 });
  });

  test("forwards data larger than any buffer completely", async () => {
    const much = "a".repeat(5_000_000);
    expect((await say(proxy, much)).length).toBe(5_000_010);
    expect(proxy.traffic()).toEqual({ connections: 1, upBytes: 5_000_000, downBytes: 5_000_010 });
  });

  test("counts a keep-alive connection once", async () => {
    const kept = await proxyTo(createServer((_request, response) => response.end("hello")));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    closing.push(() => agent.destroy());
    for (let request = 0; request < 3; request += 1) expect(await ask(kept, agent)).toBe("hello");
    expect(kept.traffic().connections).toBe(1);
  });

  test("disconnects a client immediately if the server is missing", async () => {
    const gone = tcp(() => {});
    const toNobody = await proxyTo(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect(await say(toNobody, "hello")).toBe("");
  });

  test("disconnects the server if a client was cut off", async () => {
    const { promise: cutOff, resolve } = Promise.withResolvers<void>();
    const listening = await proxyTo(
      tcp((socket) =>
        socket
          .once("close", () => resolve())
          .resume()
          .write("hello"),
      ),
    );
    const socket = connect(portOf(listening), "127.0.0.1").once("data", () => socket.resetAndDestroy());
    await expect(cutOff).resolves.toBeUndefined();
  });

  test("ends open connections when it is closed", async () => {
    const socket = connect(portOf(proxy), "127.0.0.1").on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await proxy.close();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

/** Answers after the other side has ended its direction, so a half-closed connection must work. */
function answerInCapitals(socket: Socket): void {
  void text(socket).then((said) => socket.end(`${said.toUpperCase()}, YOU SAID`));
}

function tcp(onConnection: (socket: Socket) => void): ReturnType<typeof createTcpServer> {
  return createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    onConnection(socket);
  });
}

async function proxyTo(server: Server | ReturnType<typeof createTcpServer>): Promise<CountingProxy> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const proxy = await startCountingProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closing.push(() => proxy.close().catch(() => {}));
  return proxy;
}

/** Returns everything that answers the text; empty if the connection breaks. */
async function say(proxy: CountingProxy, words: string): Promise<string> {
  const socket = connect({ port: portOf(proxy), host: "127.0.0.1", allowHalfOpen: true });
  socket.end(words);
  return text(socket).catch(() => "");
}

function ask({ url }: CountingProxy, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => resolve(text(response))).once("error", reject);
  });
}

function portOf({ url }: CountingProxy): number {
  return Number(new URL(url).port);
}
