import { describe, expect, test } from "vitest";
import { NO_CLUSTER_OBJECTS } from "#clouds/cluster-objects.ts";
import { CONFIG_MAPS, SERVICES } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { startCluster } from "#test/kube/apply/cluster-under-test.ts";

const AT = { namespace: "kube-system", name: "vips" };
const SIGNAL = new AbortController().signal;
const AS_IT_IS = (object: unknown): unknown => object;

function answering(answer: (request: ApiRequest) => ApiResponse | Error): Transport {
  return {
    async send(request) {
      const given = answer(request);
      if (given instanceof Error) throw given;
      return given;
    },
    stream: () => Promise.reject(new Error("nothing is followed here")),
    close: async () => undefined,
  };
}

function objectsOf(answer: Parameters<typeof answering>[0]) {
  return createClusterObjects(async () => answering(answer));
}

const answer = (status: number, body: unknown = {}): ApiResponse => ({
  status,
  headers: {},
  body: typeof body === "string" ? body : JSON.stringify(body),
});

const MISFIT = {
  message: "the server rejected our request due to an error in our request",
  reason: "Invalid",
};

describe("what an API server answers, in the words of a capability", () => {
  test.each([
    ["a throttle", answer(429), "Throttled"],
    ["no sign-in", answer(401), "Denied"],
    ["no right", answer(403, { reason: "Forbidden" }), "Denied"],
    ["a refusal", answer(422, { reason: "Invalid", message: "no" }), "Invalid"],
    ["a fault of its own", answer(500), "Unavailable"],
    ["a proxy's 404", answer(404, "<html>"), "Unavailable"],
    ["rubbish", answer(200, "<html>"), "Unavailable"],
    ["an object without a version", answer(200, { metadata: {} }), "Unavailable"],
    [
      "no connection",
      new ApiUnreachable({ server: "https://a", code: "ConnectionRefused", attempt: "GET /a" }),
      "Unavailable",
    ],
    ["a fault of ours", new TypeError("no"), "Unavailable"],
  ])("%s", async (_, given, code) => {
    const objects = objectsOf(() => given);
    const expected = expect.objectContaining({ kind: "error", code });
    expect(await objects.read(CONFIG_MAPS, AT, SIGNAL)).toEqual(expected);
    expect(await objects.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toEqual(expected);
    expect(await objects.patch(CONFIG_MAPS, AT, { tests: [], operations: [] }, SIGNAL)).toEqual(expected);
  });

  test("what is given up says so", async () => {
    const objects = objectsOf(
      () => new ApiUnreachable({ server: "https://a", code: "TimedOut", attempt: "GET /a" }),
    );
    expect(await objects.read(CONFIG_MAPS, AT, AbortSignal.abort())).toMatchObject({ code: "Aborted" });
  });

  test("reports a failed sign-in", async () => {
    const objects = createClusterObjects(() => Promise.reject(new Error("no token")));
    expect(await objects.read(CONFIG_MAPS, AT, SIGNAL)).toMatchObject({ code: "Denied" });
  });

  test("only the API server's own answer proves that an object is not found", async () => {
    const objects = objectsOf(() => answer(404, { reason: "NotFound", message: "no such ConfigMap" }));
    expect(await objects.read(CONFIG_MAPS, AT, SIGNAL)).toMatchObject({ kind: "absent" });
    const patch = { tests: [], operations: [] };
    expect(await objects.patch(CONFIG_MAPS, AT, patch, SIGNAL)).toMatchObject({ kind: "conflict" });
  });

  test.each([
    ["a test that does not hold", answer(422, MISFIT)],
    ["a write in between", answer(409, { reason: "Conflict" })],
  ])("a conflict is a value: %s", async (_, given) => {
    const patch = { tests: [], operations: [] };
    expect(await objectsOf(() => given).patch(CONFIG_MAPS, AT, patch, SIGNAL)).toMatchObject({
      kind: "conflict",
    });
  });

  test("an endless list is an error", async () => {
    for (const [items, most] of [
      [[{}], 200],
      [Array(100).fill({}), 50],
      [[], 200],
    ] as const) {
      let pages = 0;
      const endless = objectsOf(() => {
        pages += 1;
        return answer(200, { metadata: { continue: `page-${pages}` }, items });
      });
      expect(await endless.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toMatchObject({
        ...{ kind: "error", code: "Unavailable" },
      });
      expect(pages).toBe(most);
    }
    const same = objectsOf(() => answer(200, { metadata: { continue: "same" }, items: [] }));
    expect(await same.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toMatchObject({
      kind: "error",
      code: "Unavailable",
    });
  });

  test("keeps only projected items of a list, and accepts larger pages than requested", async () => {
    const items = Array.from({ length: 300_000 }, (_, index) => index);
    const asked: ApiRequest[] = [];
    const objects = objectsOf((request) => {
      asked.push(request);
      return answer(200, { metadata: {}, items });
    });
    const take = (item: unknown) => (item === 7 || item === 250_000 ? String(item) : undefined);
    expect(await objects.list(SERVICES, "a=b", take, SIGNAL)).toEqual({
      kind: "objects",
      items: ["7", "250000"],
    });
    await objects.read(CONFIG_MAPS, AT, SIGNAL);
    expect(asked.map(({ maxBytes }) => maxBytes)).toEqual([8_388_608, 8_388_608]);
  });

  describe("where some objects are so large that a page of them is no answer", () => {
    const tooLarge = new ApiUnreachable({
      ...{ server: "https://a", code: "AnswerTooLarge", excess: "bytes", attempt: "GET /a" },
    });
    const COUNT = 230;
    /** One that is large is an answer by itself alone. */
    const paged = (isLarge: (index: number) => boolean, requests: string[] = []) =>
      objectsOf(({ path }) => {
        const query = new URLSearchParams(path.slice(path.indexOf("?")));
        const from = Number(query.get("continue") ?? 0);
        const to = Math.min(COUNT, from + Number(query.get("limit")));
        requests.push(`${from}-${to}`);
        const items = Array.from({ length: to - from }, (_, at) => from + at);
        if (items.length > 1 && items.some(isLarge)) return tooLarge;
        return answer(200, { metadata: to < COUNT ? { continue: String(to) } : {}, items });
      });

    test("the pages become smaller, and all objects are read", async () => {
      const requests: string[] = [];
      const listed = await paged((index) => index === 120, requests).list(SERVICES, "a=b", AS_IT_IS, SIGNAL);
      expect(listed).toEqual({ kind: "objects", items: Array.from({ length: COUNT }, (_, at) => at) });
      expect(requests.slice(0, 3)).toEqual(["0-100", "100-200", "100-150"]);
      expect(requests.length).toBeLessThan(60);
    });

    test("one object too large by itself is an error, and so are too many requests", async () => {
      let requests = 0;
      const never = objectsOf(() => {
        requests += 1;
        return tooLarge;
      });
      expect(await never.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toMatchObject({ code: "Unavailable" });
      expect(requests).toBe(7);
      const asked: string[] = [];
      const all = paged(() => true, asked);
      expect(await all.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toMatchObject({ code: "Unavailable" });
      expect(asked).toHaveLength(200);
    });
  });

  test("a cloud that was loaded without a cluster says so", async () => {
    const expected = expect.objectContaining({ kind: "error", code: "Invalid" });
    expect(await NO_CLUSTER_OBJECTS.read(CONFIG_MAPS, AT, SIGNAL)).toEqual(expected);
    expect(await NO_CLUSTER_OBJECTS.list(SERVICES, "a=b", AS_IT_IS, SIGNAL)).toEqual(expected);
    const patch = { tests: [], operations: [] };
    expect(await NO_CLUSTER_OBJECTS.patch(CONFIG_MAPS, AT, patch, SIGNAL)).toEqual(expected);
  });
});

test("objects of an API server: read, listed by label over pages, and patched by the version that was read", async () => {
  const cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  try {
    const admin = await cluster.transport("admin");
    const ask = (method: "POST", path: string, body: unknown) => askForJson(admin, { method, path, body });
    await ask("POST", "/api/v1/namespaces/kube-system/configmaps", { metadata: AT, data: {} });
    for (let index = 0; index < 203; index += 1)
      await ask("POST", "/api/v1/namespaces/default/services", {
        metadata: { name: `web-${index}`, labels: { implementation: index < 201 ? "kube-vip" : "other" } },
        spec: { ports: [{ port: 80 }] },
      });
    const objects = createClusterObjects(async () => admin);
    const listed = await objects.list(SERVICES, "implementation=kube-vip", AS_IT_IS, SIGNAL);
    expect(listed.kind === "objects" && listed.items.length).toBe(201);
    const found = await objects.read(CONFIG_MAPS, AT, SIGNAL);
    if (found.kind !== "object") throw new Error("not read");
    const { resourceVersion } = (found.object as { metadata: { resourceVersion: string } }).metadata;
    const patch = {
      tests: [{ op: "test", path: "/metadata/resourceVersion", value: resourceVersion }],
      operations: [{ op: "add", path: "/data", value: { "10.0.0.1": "default/web" } }],
    } as const;
    expect(await objects.patch(CONFIG_MAPS, AT, patch, SIGNAL)).toMatchObject({
      kind: "done",
      object: { data: { "10.0.0.1": "default/web" } },
    });
    expect(await objects.patch(CONFIG_MAPS, AT, patch, SIGNAL)).toMatchObject({ kind: "conflict" });
  } finally {
    await cluster.close();
  }
});
