import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { rootCertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createHttpClient, type HttpClient, type HttpLimits } from "#clouds/http/client.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

let server: Server | undefined;
let client: HttpClient | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  client?.close();
  await new Promise((resolve) => {
    server?.close(resolve);
    server?.closeAllConnections();
  });
  sockets.clear();
  vi.unstubAllEnvs();
});

const start = async (answer: RequestListener, limits: HttpLimits = {}, path = ""): Promise<HttpClient> => {
  server = createServer(answer).on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  client = createHttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, limits);
  return client;
};
const get = (of: HttpClient, path = "/x", signal = new AbortController().signal) =>
  of.send({ method: "GET", path, headers: { "user-agent": "test" } }, signal);

test("an answer is its status, headers and body, for every status, and redirects are not followed", async () => {
  const paths: (string | undefined)[] = [];
  const of = await start((incoming, outgoing) => {
    paths.push(incoming.url);
    outgoing.writeHead(307, { location: "/elsewhere", "X-Two": ["a", "b"] }).end("gone ←");
  });
  expect(await get(of)).toMatchObject({ status: 307, headers: { location: "/elsewhere" }, body: "gone ←" });
  expect(paths).toEqual(["/x"]);
});

test.each(["/do", "/do/", ""])("the base path %j comes once before the path of a request", async (base) => {
  const of = await start((incoming, outgoing) => outgoing.end(incoming.url), {}, base);
  expect((await get(of, "/v2/x?a=1")).body).toBe(`${base.replace(/\/$/, "")}/v2/x?a=1`);
});

test("requests share kept-alive connections, a bounded number of them", async () => {
  const of = await start((_, outgoing) => outgoing.end("ok"), { maxConnections: 2 });
  await Promise.all(Array.from({ length: 8 }, () => get(of)));
  await get(of);
  expect(sockets.size).toBe(2);
});

test("no proxy is taken from the environment", async () => {
  vi.stubEnv("NODE_USE_ENV_PROXY", "1");
  vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:9");
  const of = await start((_, outgoing) => outgoing.end("ok"));
  expect((await get(of)).body).toBe("ok");
});

describe("rejects", () => {
  test.each<[string, RequestListener, HttpLimits, RegExp]>([
    ["a server that never answers", () => undefined, { timeoutMs: 50 }, /no answer within 0.05 s/],
    [
      "a body that never ends",
      (_, outgoing) => void outgoing.write("a beginning"),
      { timeoutMs: 50 },
      /no answer within 0.05 s/,
    ],
    [
      "a body that is too large",
      (_, outgoing) => outgoing.end("x".repeat(1001)),
      { maxBodyBytes: 1000 },
      /the answer is larger than 1000 bytes/,
    ],
    ["a connection that ends before the answer", ({ socket }) => socket.destroy(), {}, /socket hang up/],
    [
      "a body that breaks off",
      ({ socket }, outgoing) => {
        outgoing.writeHead(200, { "content-length": "100" });
        outgoing.write("half", () => socket.destroy());
      },
      {},
      /aborted/,
    ],
  ])("%s", async (_, answer, limits, message) => {
    await expect(get(await start(answer, limits))).rejects.toThrow(message);
  });

  test("an aborted request, whether it was sent or not", async () => {
    const abort = new AbortController();
    const of = await start(() => abort.abort());
    await expect(get(of, "/x", abort.signal)).rejects.toThrow(/abort/);
    await expect(get(of, "/x", abort.signal)).rejects.toThrow(/abort/);
  });
});

test("over TLS a server with an untrusted certificate receives no request", async () => {
  const authority = await createCertificateAuthority();
  const { certificate: cert, key } = await authority.issueServer();
  let requests = 0;
  const tls = createTlsServer({ cert, key }, (_, outgoing) => {
    requests += 1;
    outgoing.end("ok");
  });
  await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
  const of = createHttpClient(`https://127.0.0.1:${(tls.address() as AddressInfo).port}`);
  try {
    await expect(get(of)).rejects.toThrow(/certificate/);
    setDefaultCACertificates([...rootCertificates, authority.certificate]);
    expect((await get(of)).body).toBe("ok");
    expect(requests).toBe(1);
  } finally {
    setDefaultCACertificates([...rootCertificates]);
    of.close();
    await new Promise((resolve) => tls.close(resolve));
  }
});

test("one dead connection closes the other idle ones, and the next request opens a new one", async () => {
  let isDead = false;
  const of = await start(
    ({ socket }, outgoing) => {
      if (isDead) socket.destroy();
      else outgoing.end("ok");
    },
    { maxConnections: 3 },
  );
  await Promise.all([get(of), get(of), get(of)]);
  expect(sockets.size).toBe(3);
  isDead = true;
  await expect(get(of)).rejects.toThrow();
  isDead = false;
  expect((await get(of)).body).toBe("ok");
  expect(sockets.size).toBe(4);
});
