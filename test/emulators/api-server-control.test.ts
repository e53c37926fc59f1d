import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { connect } from "node:http2";
import { get } from "node:https";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type EmbeddedControl,
  type EmbeddedControlPlane,
  startEmbeddedControlPlane,
} from "#emulators/api-server/start.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import { getConnectOptions } from "#test/access.ts";
import {
  type Answered,
  ask,
  createNode,
  getNode,
  getTransport,
  NODES,
  patchNode,
} from "#test/emulators/control-plane/client.ts";
import { watchNodes } from "#test/emulators/control-plane/watch-stream.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

let cluster: ClusterUnderTest;
let plane: EmbeddedControlPlane;
let control: EmbeddedControl;

beforeEach(async () => {
  cluster = await startCluster(async (folder) => {
    plane = await startEmbeddedControlPlane({ folder, bookmarkIntervalMs: 20, historyLimit: 40 });
    return plane;
  });
  control = plane.control;
});
afterEach(() => cluster.close());

const list = (query: string): Promise<Answered> => ask(cluster, { method: "GET", path: `${NODES}?${query}` });
const versionNow = async (): Promise<string> => (await list("limit=1")).metadata.resourceVersion;
const addLabels = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];

describe("watches, on request", () => {
  test("send no bookmark before a change, then one with the version of the change", async () => {
    const query = "allowWatchBookmarks=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dabsent";
    const quiet = await watchNodes(cluster, `resourceVersion=${await versionNow()}&${query}`);
    expect(await quiet.rest()).toEqual([]);
    const moved = await watchNodes(cluster, `resourceVersion=${await versionNow()}&${query}`);
    const { resourceVersion } = (await createNode(cluster)).metadata;
    const bookmark = await moved.next();
    moved.close();
    expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { metadata: { resourceVersion } } });
  });

  test("send no bookmarks without a request for them", async () => {
    const query = "timeoutSeconds=1&allowWatchBookmarks=false";
    const watch = await watchNodes(cluster, `resourceVersion=${await versionNow()}&${query}`);
    expect(await watch.rest()).toEqual([]);
  });

  test("all end, and none remains", async () => {
    const from = await versionNow();
    const watches = await Promise.all([1, 2].map(() => watchNodes(cluster, `resourceVersion=${from}`)));
    expect(control.openWatches()).toBe(2);
    control.endWatches();
    expect(await Promise.all(watches.map((watch) => watch.rest()))).toEqual([[], []]);
    expect(control.openWatches()).toBe(0);
  });

  test.each([
    { form: "event", status: 200, lines: [{ type: "ERROR", object: { reason: "Expired", code: 410 } }] },
    { form: "status", status: 410, lines: [{ kind: "Status", reason: "Expired", code: 410 }] },
  ] as const)("answer an expired version by an $form", async ({ form, status, lines }) => {
    const from = await versionNow();
    await createNode(cluster);
    control.answerExpiredWatchesWith(form);
    control.compact();
    const watch = await watchNodes(cluster, `resourceVersion=${from}`);
    expect(watch.status).toBe(status);
    expect(await watch.rest()).toMatchObject(lines);
  });

  test("more writes than the server remembers expire a version, fewer do not", async () => {
    const from = await versionNow();
    for (let count = 0; count < 30; count += 1) await createNode(cluster);
    const remembered = await watchNodes(cluster, `resourceVersion=${from}&timeoutSeconds=1`);
    expect((await remembered.rest()).map(({ type }) => type)).toEqual(Array(30).fill("ADDED"));
    for (let count = 0; count < 30; count += 1) await createNode(cluster);
    const forgotten = await watchNodes(cluster, `resourceVersion=${from}`);
    expect((await forgotten.rest()).map(({ type }) => type)).toEqual(["ERROR"]);
  });
});

describe("lists, on request", () => {
  test.each(["expireContinueTokens", "compact"] as const)("%s expires a token", async (expire) => {
    await createNode(cluster);
    await createNode(cluster);
    const { continue: token } = (await list("limit=1")).metadata;
    await createNode(cluster);
    control[expire]();
    const refused = await list(`limit=1&continue=${token}`);
    expect(refused).toMatchObject({ code: 410, reason: "Expired" });
    const inconsistent = await list(`continue=${refused.metadata.continue}`);
    expect(inconsistent.items).toHaveLength(2);
  });

  test("an expired token leaves watches unchanged", async () => {
    const from = await versionNow();
    await createNode(cluster);
    control.expireContinueTokens();
    const watch = await watchNodes(cluster, `resourceVersion=${from}`);
    expect(await watch.next()).toMatchObject({ type: "ADDED" });
    watch.close();
  });
});

describe("failures, on request", () => {
  test.each([
    { code: 429, retryAfterSeconds: 3, reason: "TooManyRequests", header: "3" },
    { code: 500, reason: "InternalError", header: undefined },
    { code: 503, reason: "ServiceUnavailable", header: undefined },
  ])("the next writes fail with $code, and the following one succeeds", async (row) => {
    const { code, retryAfterSeconds, reason, header } = row;
    const { name, resourceVersion } = (await createNode(cluster)).metadata;
    control.failNext({ times: 2, code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
    const path = `${NODES}/${name}`;
    const first = await (await getTransport(cluster)).send({
      method: "PATCH",
      path,
      body: addLabels,
      contentType: "application/json-patch+json",
    });
    expect(first).toMatchObject({ status: code, body: expect.stringContaining(`"reason":"${reason}"`) });
    expect(first.headers["retry-after"]).toBe(header);
    expect(await patchNode(cluster, name, addLabels)).toMatchObject({ code });
    expect((await getNode(cluster, name)).metadata.resourceVersion).toBe(resourceVersion);
    expect(await patchNode(cluster, name, addLabels)).toMatchObject({ code: 200 });
  });

  test("fail only the named verbs", async () => {
    control.failNext({ times: 1, code: 503, verbs: ["list"] });
    const created = await createNode(cluster);
    expect(created.code).toBe(201);
    expect((await list("")).code).toBe(503);
    expect((await list("")).code).toBe(200);
  });

  test("delayed requests are answered after a client's timeout", async () => {
    const admin = await getTransport(cluster);
    control.delayRequests(60_000);
    const impatient = admin.send({ method: "GET", path: NODES, timeoutMs: 50 });
    await expect(impatient).rejects.toThrow(ApiUnreachable);
    control.delayRequests(0);
    expect((await list("")).code).toBe(200);
  });

  test("a write with a lost answer is carried out", async () => {
    control.loseAnswers(1, ["create"]);
    const lost = ask(cluster, { method: "POST", path: NODES, body: { metadata: { name: "lost" } } });
    await expect(lost).rejects.toThrow(ApiUnreachable);
    expect(await getNode(cluster, "lost")).toMatchObject({ code: 200 });
  });

  test("connections are reset until the failure is removed", async () => {
    control.resetConnections(true);
    await expect(list("")).rejects.toThrow(ApiUnreachable);
    control.resetConnections(false);
    expect((await list("")).code).toBe(200);
  });

  test("GOAWAY is sent immediately, with a watch open", async () => {
    const { server, certificateAuthority, authorization } = await getConnectOptions(plane, "admin");
    const session = connect(server, { ca: certificateAuthority });
    const headers = { authorization: (await authorization?.()) ?? "" };
    const watch = session.request({ ":path": `${NODES}?watch=true&resourceVersion=999999999`, ...headers });
    await once(watch, "response");
    const told = once(session, "goaway");
    control.goAway();
    expect((await told)[0]).toBe(0);
    session.destroy();
  });

  test("after GOAWAY a watch continues, and requests use a new connection", async () => {
    const watch = await watchNodes(cluster, `resourceVersion=${await versionNow()}`);
    control.goAway();
    const { name } = (await createNode(cluster)).metadata;
    expect((await watch.next())?.object.metadata.name).toBe(name);
    watch.close();
  });
});

describe("HTTP/1.1", () => {
  test.each([
    { given: "at once", query: "watch=true" },
    { given: "before it has a line", query: "watch=true&resourceVersion=999999999" },
  ])("is supported too: a watch returns $given", async ({ query }) => {
    const { server, certificateAuthority: ca, authorization } = await getConnectOptions(plane, "admin");
    const headers = { authorization: (await authorization?.()) ?? "" };
    const watch = get(`${server}${NODES}?${query}`, { ca, headers, agent: false });
    const [response] = (await once(watch, "response")) as [IncomingMessage];
    watch.destroy();
    expect([response.httpVersion, response.statusCode]).toEqual(["1.1", 200]);
  });

  test("a watch sends each line when it is written", async () => {
    const { server, certificateAuthority: ca, authorization } = await getConnectOptions(plane, "admin");
    const headers = { authorization: (await authorization?.()) ?? "" };
    const path = `${NODES}?watch=true&resourceVersion=${await versionNow()}`;
    const watch = get(`${server}${path}`, { ca, headers, agent: false });
    const [response] = (await once(watch, "response")) as [IncomingMessage];
    const { name } = (await createNode(cluster)).metadata;
    const [line] = (await once(response, "data")) as [Buffer];
    watch.destroy();
    expect(JSON.parse(line.toString())).toMatchObject({ type: "ADDED", object: { metadata: { name } } });
  });
});

describe("access", () => {
  test("tokens are secret to their user and new at every start", async () => {
    const other = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
    const tokens = [plane, other.plane].map(({ tokenFile }) => readFile(tokenFile("admin"), "utf8"));
    const [first, second] = await Promise.all(tokens);
    await other.close();
    expect(first).not.toBe(second);
    expect(first).toMatch(/^[\w-]{32}$/);
  });
});
