import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runBrake } from "#cli/deletion/brake.ts";
import { formatBrake, summarizeBrake } from "#cli/deletion/brake-lines.ts";
import { releaseBrake } from "#cli/deletion/reset-brake.ts";
import { digitalocean } from "#clouds/digitalocean/provider.ts";
import { createEmptyState, DeletionState } from "#core/node-lifecycle/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";

const PATH = "/api/v1/namespaces/kube-system/configmaps/serverless-ccm";
const MINUTE_MS = 60_000;
const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * MINUTE_MS).toISOString();

let cluster: ClusterInReach;
const SETTINGS = DEFAULT_SETTINGS.nodes.deletion;

beforeAll(async () => {
  cluster = await startClusterInReach();
  for (const number of [1, 2, 3, 4, 5])
    await cluster.put(`/api/v1/nodes/node-${number}`, buildJoiningNode({ name: `node-${number}` }));
});
afterAll(() => cluster.close());
beforeEach(() => store(PULLED));

const deletion = (minutes: number, counted = true) => ({
  at: minutesAgo(minutes),
  clock: "a",
  nodes: 6,
  counted,
});

const PULLED = {
  version: 1,
  written: minutesAgo(5),
  absences: {
    c: { first: minutesAgo(7), last: minutesAgo(6), clock: "a" },
    d: { first: minutesAgo(8), last: minutesAgo(6), clock: "a" },
  },
  deletions: { a: deletion(5), b: deletion(120), e: deletion(0, false) },
  brake: { since: minutesAgo(130), limit: "TenMinutes", nodes: 6, deleted: 1, waiting: 2 },
};

describe("brake", () => {
  test("shows since when and why the brake holds, and what counts", async () => {
    expect(await lines({})).toEqual([
      expect.stringMatching(/^brake {7}pulled \S+Z \(2 h ago\): more than 20 % in 10 minutes, of 6 nodes$/),
      "            1 deletion by then, and 2 nodes that would have gone too",
      "10 minutes  1 deletion that counts, of at most 1 (20 %)",
      "24 hours    2 deletions that count, of at most 2 (33.3 %)",
      "under way   1 deletion",
      expect.stringMatching(/^not found {3}2 nodes, the first \S+Z \(8 min ago\)$/),
      expect.stringMatching(/^written {5}\S+Z \(5 min ago\)$/),
    ]);
  });

  test("shows a cluster without deletions, and that deletion is disabled", async () => {
    await store(undefined);
    expect(await lines({ deleteNodes: "false" })).toEqual([
      "brake       not pulled",
      "deletion    off by this cluster's configuration: no node is deleted",
      "10 minutes  0 deletions that count, of at most 1 (20 %)",
      "24 hours    0 deletions that count, of at most 1 (33.3 %)",
      "not found   no node",
      "written     never",
    ]);
  });

  test("explains what a scale-in counts on a cloud that does not show terminated instances", () => {
    const { scaleIn } = digitalocean;
    const summary = summarizeBrake(createEmptyState(), SETTINGS, 3, new Date());
    const shown = formatBrake(summary, SETTINGS, new Date(), scaleIn);
    expect(shown.at(-2)).toBe(`scale-in    ${scaleIn}`);
    expect(scaleIn).toContain("actions:read");
  });

  test("prints the same facts as JSON", async () => {
    const [line = "", ...others] = await lines({ json: true });
    expect(others).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({
      cluster: "tenant-a",
      brake: PULLED.brake,
      tenMinutes: { deletions: 1, most: 1 },
      day: { deletions: 2, most: 2 },
      absent: 2,
    });
  });

  test("does not change what it shows", async () => {
    const before = await stored();
    await lines({});
    expect(await stored()).toEqual(before);
  });

  test.each<[string, object | undefined, string]>([
    ["no ConfigMap", undefined, "apply infra/state/config-map.yaml"],
    ["rubbish", { state: "{{" }, "delete the key to start anew"],
    ["a state of a later version", { state: '{"version":2}' }, "is not of version 1"],
    [
      "a state that acts on terminals",
      { state: '{"version":1,"absences":{"\\u001b[2J":1}}' },
      "delete the key to start anew",
    ],
  ])("%s is an error that says what to do", async (_, data, message) => {
    await cluster.admin.send({ method: "DELETE", path: PATH });
    if (data !== undefined) await cluster.put(PATH, configMap(data));
    for (const reset of [false, true]) await expect(lines({ reset })).rejects.toThrow(message);
  });

  test("tells an identity without the right to read the state", async () => {
    const asRelay = runBrake(undefined, await cluster.flags("relay"), () => undefined, {});
    await expect(asRelay).rejects.toThrow("cannot be read: 403");
  });
});

describe("brake --reset", () => {
  test("releases the brake, forgets missing instances, and reports it", async () => {
    const [said, brakeLine] = await lines({ reset: true });
    expect(said).toMatch(/^the brake of cluster tenant-a, pulled \S+Z, is released: /);
    expect(brakeLine).toBe("brake       not pulled");
    const state = await stored();
    expect([state.brake, state.absences, Object.keys(state.deletions)]).toEqual([undefined, {}, ["e"]]);
  });

  test("changes nothing if the brake does not hold, reports it, and succeeds", async () => {
    await store({ ...PULLED, brake: undefined });
    const before = await cluster.get(PATH);
    expect((await lines({ reset: true }))[0]).toBe(
      "the brake of cluster tenant-a is not pulled: nothing was changed",
    );
    expect(await cluster.get(PATH)).toEqual(before);
  });

  test("keeps a concurrent write", async () => {
    const meanwhile = { ...PULLED, deletions: { ...PULLED.deletions, f: deletion(0) } };
    let writes = 0;
    const racing = beforeEachWrite(async () => {
      writes += 1;
      if (writes === 1) await replace(meanwhile);
    });
    expect(await releaseBrake(racing, "tenant-a", AbortSignal.timeout(120_000))).toMatchObject({
      reset: true,
    });
    expect(writes).toBe(2);
    expect(Object.keys((await stored()).deletions).sort()).toEqual(["e", "f"]);
  });

  test("gives up after too many concurrent writes", async () => {
    const racing = beforeEachWrite(() => replace(PULLED));
    const reset = releaseBrake(racing, "tenant-a", AbortSignal.timeout(120_000));
    await expect(reset).rejects.toThrow("changed the state 5 times meanwhile; try again");
    expect((await stored()).brake).toEqual(PULLED.brake);
  });
});

async function lines(more: object): Promise<string[]> {
  const written: string[] = [];
  const flags = await cluster.flags("node-lifecycle", more);
  await runBrake(undefined, flags, (line) => written.push(line), {});
  return written;
}

function configMap(data: object | undefined) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "serverless-ccm", namespace: "kube-system" },
    ...(data === undefined ? {} : { data }),
  };
}

async function store(state: object | undefined): Promise<void> {
  await cluster.put(PATH, configMap(state === undefined ? undefined : { state: JSON.stringify(state) }));
}

let versions = 0;

/** Replaces the state as a controller does: the same object in another version. */
async function replace(state: object): Promise<void> {
  const body = { ...((await cluster.get(PATH)) as object), data: { state: JSON.stringify(state) } };
  const metadata = { ...(body as { metadata?: object }).metadata };
  versions += 1;
  Object.assign(metadata, { annotations: { at: `version ${versions}` } });
  const { status } = await cluster.admin.send({ method: "PUT", path: PATH, body: { ...body, metadata } });
  expect(status).toBe(200);
}

async function stored(): Promise<DeletionState> {
  const { data } = (await cluster.get(PATH)) as { readonly data: { readonly state: string } };
  return DeletionState.parse(JSON.parse(data.state));
}

function beforeEachWrite(act: () => Promise<void>): Transport {
  return {
    ...cluster.admin,
    async send(request) {
      if (request.method === "PUT") await act();
      return cluster.admin.send(request);
    },
  };
}
