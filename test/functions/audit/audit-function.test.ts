import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Cluster } from "#config/cluster.ts";
import { createAuditDependencies, createAuditFunction } from "#functions/parts/audit/audit-function.ts";
import {
  createVerifySignature,
  derivePublicKey,
  parsePublicKeys,
  signCluster,
} from "#functions/parts/cluster-signature.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import type { UrlResponse } from "#functions/parts/url-request.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { lambda } from "#platforms/lambda/platform.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";
import { buildAuditEvent, buildEventList } from "#test/functions/audit/event-builders.ts";
import { buildStatus } from "#test/kube/apply/fake-api.ts";
import { TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { buildCluster, createSweptWorld, type SweptWorld } from "#test/sweep/sweep-builders.ts";

const KEY = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();
const parsed = parsePublicKeys(derivePublicKey(KEY));
const KEYS = parsed.kind === "keys" ? parsed.keys : [];
const NODE = buildEventList([buildAuditEvent("create", { resource: "nodes", name: "new" })]);

interface Sent {
  readonly path?: string;
  readonly token?: string;
  readonly method?: string;
  readonly body?: string;
  readonly leftMs?: number;
}

/** The function on a cluster in memory, and all that it reads before it answers. */
function createWorld(swept: SweptWorld = createSweptWorld(), clusters: readonly Cluster[] = [swept.cluster]) {
  const lookups: string[] = [];
  const lines: LogLine[] = [];
  const audit = createAuditFunction({
    verify: createVerifySignature("audit", KEYS),
    async cluster(name) {
      lookups.push(name);
      return clusters.find((each) => each.name === name);
    },
    api: async () => swept.transport,
    invoker: {
      async invoke(event) {
        swept.events.push(structuredClone(event));
        return { kind: "report", report: buildReport(event) };
      },
    },
    ...{ clock: systemClock, random: () => 0.5, identity: "test", turns: createSweepTurns(systemClock) },
    readStop: async () => swept.stop,
    log: (line) => void lines.push(line),
  });
  const send = async (sent: Sent = {}): Promise<UrlResponse> => {
    const { path = "/audit/one", token = `Bearer ${signCluster("audit", "one", KEY)}`, body = NODE } = sent;
    return audit(
      {
        ...{ version: "2.0", rawPath: path, headers: token === "" ? {} : { authorization: token } },
        requestContext: { http: { method: sent.method ?? "POST" } },
        ...{ body: Buffer.from(body).toString("base64"), isBase64Encoded: true },
      },
      { awsRequestId: "r-1", getRemainingTimeInMillis: () => sent.leftMs ?? 20_000 },
    );
  };
  return { audit, send, swept, lookups, lines };
}

test("a reported node that needs work is read and sent before the answer", async () => {
  const { send, swept, lookups } = createWorld();
  swept.nodes.put("new", TAINTED);
  expect(await send()).toMatchObject({ statusCode: 200, body: "{}" });
  expect(
    swept.events.map(({ cluster, controller, objects }) => [cluster, controller, objects.length]),
  ).toEqual([["one", "cloud-node-controller", 1]]);
  expect(lookups).toEqual(["one"]);
});

test("nothing in a report but names is believed", async () => {
  const { send, swept } = createWorld();
  const forged = {
    ...buildAuditEvent("delete", { resource: "nodes", name: "new" }),
    requestObject: { metadata: { name: "new", uid: "forged" }, spec: { taints: [] } },
    responseStatus: { code: 500 },
  };
  swept.nodes.put("new", TAINTED);
  await send({ body: buildEventList([forged]) });
  expect(swept.events[0]?.objects).toMatchObject([{ metadata: { name: "new" }, ...TAINTED }]);
  expect(JSON.stringify(swept.events)).not.toContain("forged");
});

describe("is answered 401 before any lookup, and said once", () => {
  const OTHER = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();

  test.each([
    ["no token", ""],
    ["another cluster's token", `Bearer ${signCluster("audit", "two", KEY)}`],
    ["the signature of an admission path", `Bearer ${signCluster("admission", "one", KEY)}`],
    ["another operator's token", `Bearer ${signCluster("audit", "one", OTHER)}`],
    ["a basic password", `Basic ${signCluster("audit", "one", KEY)}`],
    ["two tokens", `Bearer ${signCluster("audit", "one", KEY)} ${signCluster("audit", "one", KEY)}`],
  ])("%s", async (_, token) => {
    const { send, lookups, lines, swept } = createWorld();
    for (let request = 0; request < 3; request += 1)
      expect(await send({ token, body: "x".repeat(1_000) })).toMatchObject({ statusCode: 401 });
    expect([lookups, swept.requests]).toEqual([[], []]);
    expect(lines.map(({ event }) => event)).toEqual(["UnsignedToken"]);
    expect(JSON.stringify(lines)).not.toContain(signCluster("audit", "one", KEY));
  });
});

test("known and unknown clusters are answered alike, signed or not", async () => {
  const { send, swept } = createWorld();
  const unknown = { path: "/audit/none", token: `Bearer ${signCluster("audit", "none", KEY)}` };
  expect(await send(unknown)).toEqual(await send());
  expect(await send({ ...unknown, token: "Bearer a" })).toEqual(await send({ token: "Bearer a" }));
  expect(swept.events).toEqual([]);
});

test("a cluster whose relay writes is not looked at, because functions cannot reach it", async () => {
  const cluster = buildCluster("one", { writes: "relay" });
  const { send, swept } = createWorld(createSweptWorld(), [cluster]);
  swept.nodes.put("new", TAINTED);
  expect(await send()).toMatchObject({ statusCode: 200 });
  expect(swept.requests).toEqual([]);
});

test.each([
  ["another path", { path: "/" }, 404],
  ["no cluster", { path: "/audit/" }, 404],
  ["an invalid name", { path: "/audit/../one" }, 404],
  ["more than a name", { path: "/audit/one/two" }, 404],
  ["a read", { method: "GET" }, 405],
  ["no list", { body: "<html>" }, 400],
  ["an endless list of nothing", { body: buildEventList([]) }, 200],
  ["the path with a slash at its end", { path: "/audit/one/" }, 200],
] as const)("answers %s", async (_, sent, statusCode) => {
  const { send, swept } = createWorld();
  expect(await send(sent)).toMatchObject({ statusCode });
  expect(swept.events).toEqual([]);
});

test("answers 400 to what is no request to a URL", async () => {
  const { audit } = createWorld();
  const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 1_000 };
  for (const event of [undefined, {}, { rawPath: 1 }, []])
    expect(await audit(event, context)).toMatchObject({ statusCode: 400 });
});

test("says once that events are malformed, and looks at the others", async () => {
  const { send, swept, lines } = createWorld();
  swept.nodes.put("new", TAINTED);
  const body = buildEventList([null, buildAuditEvent("create", { resource: "nodes", name: "new" })]);
  for (let report = 0; report < 2; report += 1) await send({ body });
  expect(swept.events).toHaveLength(2);
  expect(lines.filter(({ event }) => event === "MalformedEvents")).toHaveLength(1);
});

test("a report beyond the bounds is a look at everything", async () => {
  const { send, swept } = createWorld();
  swept.nodes.put("new", TAINTED);
  swept.nodes.put("other", TAINTED);
  expect(await send({ body: "x".repeat(5 * 1024 * 1024) })).toMatchObject({ statusCode: 200 });
  expect(swept.events.map(({ objects }) => objects.length)).toEqual([2]);
});

test.each(["dry run", "stop"] as const)("sends nothing under a %s", async (what) => {
  const entry = what === "dry run" ? { policies: { dryRun: true } } : {};
  const { send, swept } = createWorld(createSweptWorld({ entry }));
  if (what === "stop") swept.stop = "writes";
  swept.nodes.put("new", TAINTED);
  expect(await send()).toMatchObject({ statusCode: 200 });
  expect([swept.requests, swept.events]).toEqual([[], []]);
});

describe("a look that fails", () => {
  function failing(status: number, reason: string): SweptWorld {
    const swept = createSweptWorld();
    const send = async () => buildStatus(status, reason, "no");
    return Object.assign(swept, { transport: { ...swept.transport, send } });
  }

  test("is answered 503, so that the API server repeats the report", async () => {
    const answer = await createWorld(failing(500, "InternalError")).send();
    expect(answer).toMatchObject({ statusCode: 503, headers: { "retry-after": "10" } });
  });

  test("is answered 200 if the failure lasts: repeating it is useless", async () => {
    const { send, lines } = createWorld(failing(403, "Forbidden"));
    expect(await send()).toMatchObject({ statusCode: 200 });
    expect(lines).toMatchObject([{ event: "SweepFinished", level: "warn", because: { code: "Forbidden" } }]);
  });

  test("is answered 503 in time if the API server is silent", async () => {
    const swept = createSweptWorld();
    const silent = { ...swept.transport, send: () => new Promise<never>(() => undefined) };
    const answer = await createWorld(Object.assign(swept, { transport: silent })).send({ leftMs: 1_050 });
    expect(answer).toMatchObject({ statusCode: 503 });
  });
});

test("a flood of one cluster is answered 429 without reading it, and leaves others alone", async () => {
  const swept = createSweptWorld();
  const { promise: released, resolve } = Promise.withResolvers<void>();
  const transport = { ...swept.transport };
  const send: typeof transport.send = async (request) => {
    await released;
    return transport.send(request);
  };
  Object.assign(swept, { transport: { ...transport, send } });
  const { send: report, lines } = createWorld(swept, [swept.cluster, buildCluster("two")]);
  const reports = Array.from({ length: 200 }, () => report());
  const unread = await report({ body: "<html>" });
  expect(unread).toMatchObject({ statusCode: 429, headers: { "retry-after": "1" } });
  const other = report({ path: "/audit/two", token: `Bearer ${signCluster("audit", "two", KEY)}` });
  resolve();
  expect((await other).statusCode).toBe(200);
  const statuses = (await Promise.all(reports)).map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200)).toHaveLength(33);
  expect(statuses.filter((status) => status === 429)).toHaveLength(167);
  expect(lines.filter(({ event }) => event === "TooManyReports")).toHaveLength(1);
});

test.each([undefined, "", "secret"])(
  "with the public keys %j it rejects every request and says why",
  async (text) => {
    const lines: LogLine[] = [];
    const environment = text === undefined ? {} : { AUDIT_PUBLIC_KEYS: text };
    const world = createAuditDependencies(
      { ...environment, AWS_REGION: "us-east-1" },
      lambda.openDeployment,
      { log: (line) => void lines.push(line) },
    );
    expect(world.verify("one", signCluster("audit", "one", KEY))).toBe(false);
    expect(lines).toMatchObject([{ level: "error", event: "Misconfigured" }]);
  },
);
