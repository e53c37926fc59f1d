import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import {
  type ApiFault,
  type ApiServerProxy,
  startApiServerProxy,
} from "#emulators/harness/api-server-proxy.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";

const NODES = "/api/v1/nodes";

let folder: string;
let plane: EmbeddedControlPlane;
let proxy: ApiServerProxy;
let transport: Transport;
let authority: Awaited<ReturnType<typeof createCertificateAuthority>>;
let authorization = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "proxy-"));
  plane = await startEmbeddedControlPlane({ folder });
  authority = await createCertificateAuthority();
  const { server, certificateAuthorityFile } = plane;
  const certificate = await authority.issueServer();
  proxy = await startApiServerProxy({ server, certificateAuthorityFile, certificate });
  authorization = (await (await getConnectOptions(plane, "admin")).authorization?.()) ?? "";
  transport = connect({
    server: proxy.url,
    tls: async () => ({ certificateAuthority: authority.certificate }),
    authorization: async () => authorization,
  });
});
afterEach(async () => {
  await transport.close();
  await proxy.close();
  await plane.close();
  await rm(folder, { recursive: true, force: true });
});

test("forwards requests and watches unchanged", async () => {
  expect((await create("one")).status).toBe(201);
  expect(JSON.parse((await list()).body).items).toHaveLength(1);
  expect(await watched(1)).toEqual(["ADDED one"]);
});

test.each<readonly [string, ApiFault, number]>([
  [
    "refuses",
    { kind: "refuse", status: 429, reason: "TooManyRequests", headers: { "retry-after": "1" } },
    429,
  ],
  ["is late", { kind: "delay", delayMs: 10 }, 200],
])("%s once, on request", async (_, fault, status) => {
  proxy.fail({ fault, count: 1, matches: ({ method }) => method === "GET" });
  expect([(await list()).status, (await list()).status]).toEqual([status, 200]);
  expect([proxy.met(), proxy.left()]).toEqual([1, 0]);
});

test("ends a watch after the given number of events", async () => {
  for (const name of ["a", "b", "c"]) await create(name);
  proxy.fail({ fault: { kind: "end-after", lines: 2 }, count: 1, matches: ({ isWatch }) => isWatch });
  expect(await watched(Number.POSITIVE_INFINITY)).toEqual(["ADDED a", "ADDED b"]);
});

test("reports in a watch that its version is gone", async () => {
  proxy.fail({ fault: { kind: "gone-event" }, count: 1, matches: ({ isWatch }) => isWatch });
  expect(await watched(Number.POSITIVE_INFINITY)).toEqual(["ERROR 410"]);
});

test("loses the answer to a completed request, and tells of it", async () => {
  const met: string[] = [];
  proxy.fail({
    ...{ fault: { kind: "lose-answer" }, count: 1, matches: ({ method }) => method === "POST" },
    onMet: ({ method, path }) => met.push(`${method} ${path}`),
  });
  await expect(create("one")).rejects.toThrow();
  expect(JSON.parse((await list()).body).items).toHaveLength(1);
  expect(met).toEqual([`POST ${NODES}`]);
});

test("drops a request, and tells of it with the body", async () => {
  const met = Promise.withResolvers<string>();
  proxy.fail({
    ...{ fault: { kind: "drop" }, count: 1, matches: ({ method }) => method === "POST" },
    onMet: (_, body) => met.resolve(JSON.parse(body).metadata.name),
  });
  const creating = create("one").catch(() => "no answer");
  expect(await met.promise).toBe("one");
  proxy.dropConnections();
  expect(await creating).toBe("no answer");
  expect(JSON.parse((await list()).body).items).toEqual([]);
});

test("accepts the given credentials, and serves another certificate", async () => {
  proxy.setCredentials(new Map([["Bearer new", authorization]]));
  expect((await list()).status).toBe(401);
  authorization = "Bearer new";
  expect((await list()).status).toBe(200);
  authority = await createCertificateAuthority();
  proxy.setCertificate(await authority.issueServer());
  proxy.dropConnections();
  expect((await list()).status).toBe(200);
});

function create(name: string) {
  return transport.send({ method: "POST", path: NODES, body: buildJoiningNode({ name }) });
}

function list() {
  return transport.send({ method: "GET", path: NODES });
}

/** Reads the events of a watch from the beginning, up to `most` or its end. */
async function watched(most: number): Promise<readonly string[]> {
  const stream = await transport.stream({ method: "GET", path: `${NODES}?watch=1` });
  let text = "";
  const events = (): string[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
      .map(({ type, object }) => `${type} ${object.metadata.name ?? object.code}`);
  for await (const piece of stream.body) {
    text += Buffer.from(piece).toString("utf8");
    if (events().length >= most) break;
  }
  stream.close();
  return events();
}
