import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll, listByName, listPage } from "#kube/follow/list.ts";
import { formatFullName, getMetadata } from "#kube/follow/object-key.ts";
import { createPageSize } from "#kube/follow/page-size.ts";
import { watchResource } from "#kube/follow/watch.ts";
import { ask } from "#test/ask.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { WAIT } from "#test/wait-until-true.ts";

const CONFIG_MAPS = "/api/v1/configmaps";
const never = new AbortController().signal;

describeWithPart("control-plane", "following a resource of namespaces on kube-apiserver", (binaries) => {
  let cluster: ClusterUnderTest;
  let admin: Transport;
  beforeAll(async () => {
    cluster = await startCluster((folder) => startKubeApiserver({ folder, binaries }));
    admin = await cluster.transport("admin");
    for (const name of ["a", "b", "pages"]) {
      await ask(admin, { method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
    }
  });
  afterAll(() => cluster?.close());

  const put = (namespace: string, name: string, data: object): Promise<unknown> =>
    ask(admin, {
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      body: { metadata: { name }, data },
    });
  const inNamespace = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

  test("objects of one name in two namespaces come and go by themselves", async () => {
    const stopping = new AbortController();
    const present = new Map<string, unknown>();
    const following = watchResource({
      transport: admin,
      path: CONFIG_MAPS,
      project: ({ data }) => data,
      clock: systemClock,
      random: () => 0,
      signal: stopping.signal,
      handler: {
        applied: (data, key) => void (key.name === "web" && present.set(formatFullName(key), data)),
        deleted: (key) => void present.delete(formatFullName(key)),
        restarted: () => {},
        note: () => {},
      },
    });
    await put("a", "web", { of: "a" });
    await put("b", "web", { of: "b" });
    await vi.waitFor(
      () => expect(Object.fromEntries(present)).toEqual({ "a/web": { of: "a" }, "b/web": { of: "b" } }),
      WAIT,
    );
    await ask(admin, { method: "DELETE", path: `${inNamespace("a")}/web` });
    await vi.waitFor(() => expect(Object.fromEntries(present)).toEqual({ "b/web": { of: "b" } }), WAIT);
    stopping.abort();
    await following;
  });

  test("one of them is read by name and namespace", async () => {
    await put("a", "read", { of: "a" });
    await put("b", "read", { of: "b" });
    const read = async (namespace: string) => {
      const page = await listByName(admin, CONFIG_MAPS, { name: "read", namespace }, never);
      return page.kind === "page" ? page.items.map((item) => Reflect.get(item as object, "data")) : page;
    };
    expect([await read("a"), await read("b"), await read("pages")]).toEqual([
      [{ of: "a" }],
      [{ of: "b" }],
      [],
    ]);
  });

  test("a page that decompresses beyond the limit is halved in the middle of a list, which is still complete", async () => {
    const names = (kind: string, count: number): readonly string[] =>
      Array.from({ length: count }, (_, index) => `${kind}-${100 + index}`);
    const [small, large] = [names("a-small", 70), names("b-large", 40)];
    await Promise.all(small.map((name) => put("pages", name, {})));
    // Of what gzip makes next to nothing: the limit is that of what it unfolds to.
    await Promise.all(large.map((name) => put("pages", name, { text: "x".repeat(8_000) })));
    const whole = await admin.send({ method: "GET", path: inNamespace("pages"), compressed: true });
    expect(whole.headers["content-encoding"]).toBe("gzip");
    const asked: string[] = [];
    const limited = await cluster.transport("admin", { maxBodyBytes: 64 * 1024 });
    const transport: Transport = {
      ...limited,
      send(request) {
        const query = new URL(request.path, "https://api").searchParams;
        asked.push(`${query.get("limit")}${query.has("continue") ? " on" : ""}`);
        return limited.send(request);
      },
    };
    const size = createPageSize();
    for (let halving = 0; halving < 4; halving += 1) size.halve();
    const list = await listAll(transport, inNamespace("pages"), (item) => getMetadata(item)["name"], never, {
      size,
    });
    expect(list).toMatchObject({ kind: "list", items: expect.arrayContaining([...small, ...large]) });
    expect(list.kind === "list" && list.items.length).toBe(110);
    expect(asked.slice(0, 6)).toEqual(["31", "31 on", "31 on", "15 on", "15 on", "7 on"]);
  });

  test("an object that is too large by itself is named", async () => {
    await put("b", "huge", { text: "x".repeat(100_000) });
    const limited = await cluster.transport("admin", { maxBodyBytes: 64 * 1024 });
    const size = createPageSize();
    for (let halving = 0; halving < 8; halving += 1) size.halve();
    expect(await listPage(limited, inNamespace("b"), undefined, () => {}, never, { size })).toMatchObject({
      kind: "failed",
      code: "ClusterLimited",
      limit: "pageBytes",
      message: expect.stringContaining("(b/huge)"),
    });
  });
});
