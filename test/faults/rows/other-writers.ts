import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { createBurst } from "#test/faults/burst.ts";
import { NODES, type Row } from "#test/faults/row.ts";
import { type Stage, waitOnStage } from "#test/faults/stage.ts";

const UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized";
const REWRITTEN = "example.com/rewritten";

const CONTESTED = 50;
const CONTEST_MS = 10 * 60_000;
const MOST_WRITES_A_MINUTE = 10;

/** Writes of others on our nodes. */
export const OTHER_WRITER_ROWS: readonly Row[] = [
  {
    name: "taint lists rewritten: 20 nodes 20 times a second, all once",
    // Each conflict is read and decided again, a bounded number of times.
    bounds: { writesPerNode: 40 },
    async play(stage) {
      const ends = [rewriting(stage, 20, 50), rewriting(stage, NODES, 1_000)];
      let rewrites = 0;
      try {
        await createBurst({})(stage);
        await waitOnStage("as many rewrites as nodes", () => rewrote(ends) >= NODES, 60_000);
      } finally {
        for (const { end } of ends) rewrites += await end();
      }
      if (rewrites < NODES) throw new Error(`others wrote ${rewrites} lists`);
      await stage.untilUp();
    },
  },
  {
    name: "our taint put back on every removal, for 10 minutes",
    bounds: { writesPerNode: 200 },
    async play(stage) {
      await stage.startRelay();
      const contested = (await stage.join(CONTESTED)).map(({ privateDnsName }) => privateDnsName);
      const contest = puttingBack(stage, new Set(contested));
      await stage.join(NODES - CONTESTED);
      const endMs = stage.clock.now() + CONTEST_MS;
      await waitOnStage("10 minutes of the clock", () => stage.clock.now() >= endMs, 120_000);
      const removals = await contest.end();
      for (const [name, times] of removals) {
        const most = Math.max(
          ...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length),
        );
        if (most > MOST_WRITES_A_MINUTE) throw new Error(`${name} took ${most} writes within a minute`);
        if (times.length < 2)
          throw new Error(`${name} was written ${times.length} times: there was no contest`);
      }
      await stage.untilUp();
    },
  },
  kubeletRow("without $patch", false),
  kubeletRow("with $patch: replace", true),
];

interface Rewriting {
  written(): number;
  end(): Promise<number>;
}

function rewrote(all: readonly Rewriting[]): number {
  return all.reduce((sum, { written }) => sum + written(), 0);
}

/**
 * Replaces the taint lists of the first nodes, each from its last observation, unless another client wrote in
 * between.
 */
function rewriting(stage: Stage, nodes: number, intervalMs: number): Rewriting {
  const key = `${REWRITTEN}-${nodes}`;
  const busy = new Set<string>();
  const sending = new Set<Promise<void>>();
  let written = 0;

  async function rewrite(name: string, uid: string): Promise<void> {
    const latest = stage.history.records.get(uid)?.latest;
    const expected = stage.expected.get(name);
    if (latest === undefined || expected === undefined) return;
    const mine = { key, value: String(written), effect: "NoSchedule" };
    const taints = [...(latest.spec.taints ?? []).filter((taint) => taint.key !== key), mine];
    const { resourceVersion } = latest.metadata;
    const body = { metadata: { resourceVersion }, spec: { taints } };
    const contentType = "application/merge-patch+json";
    const path = `/api/v1/nodes/${name}?fieldManager=rewriter`;
    const { status } = await stage.world.admin.send({ method: "PATCH", path, contentType, body });
    if (status !== 200) return;
    written += 1;
    // Its writes are foreign changes from then on.
    const others = expected.marks.taints.filter((taint) => taint.key !== key);
    stage.expected.set(name, { ...expected, marks: { ...expected.marks, taints: [...others, mine] } });
  }

  const timer = setInterval(() => {
    for (const [name, { uid }] of [...stage.expected].slice(0, nodes)) {
      if (busy.has(name)) continue;
      busy.add(name);
      const sent = rewrite(name, uid)
        .catch(() => {})
        .finally(() => {
          busy.delete(name);
          sending.delete(sent);
        });
      sending.add(sent);
    }
  }, intervalMs);
  return {
    written: () => written,
    end: async () => {
      clearInterval(timer);
      await Promise.all(sending);
      return written;
    },
  };
}

/** Puts our taint back on some nodes after each removal, and notes the time on the stage's clock. */
function puttingBack(
  stage: Stage,
  names: ReadonlySet<string>,
): { end(): Promise<ReadonlyMap<string, readonly number[]>> } {
  const removals = new Map([...names].map((name) => [name, [] as number[]]));
  const seen = new Map<string, string>();
  const sending = new Set<Promise<unknown>>();
  const look = (): void => {
    for (const { name, latest } of stage.history.records.values()) {
      const version = latest.metadata.resourceVersion;
      if (!names.has(name) || version === undefined || seen.get(name) === version) continue;
      seen.set(name, version);
      if (latest.spec.taints?.some(({ key }) => key === UNINITIALIZED)) continue;
      removals.get(name)?.push(stage.clock.now());
      const body = [
        {
          op: "add",
          path: "/spec/taints/-",
          value: { key: UNINITIALIZED, value: "true", effect: "NoSchedule" },
        },
      ];
      const contentType = "application/json-patch+json";
      const path = `/api/v1/nodes/${name}?fieldManager=putter-back`;
      const sent = stage.world.admin
        .send({ method: "PATCH", path, contentType, body })
        .catch(() => undefined)
        .finally(() => sending.delete(sent));
      sending.add(sent);
    }
  };
  const timer = setInterval(look, 5);
  return {
    end: async () => {
      clearInterval(timer);
      await Promise.all(sending);
      return removals;
    },
  };
}

/** A kubelet with --node-ip that patches the addresses which it read before ours were written. */
function kubeletRow(form: string, replaces: boolean): Row {
  return {
    name: `kubelet patches addresses from a stale read, ${form}`,
    async play(stage) {
      await stage.startRelay();
      const instances: Ec2Instance[] = [];
      const joining = stage.join(NODES, (_, instance) => {
        instances.push(instance);
        return { nodeIP: instance.privateIpAddress ?? "" };
      });
      await stage.afterWrites(stage.random.whole(1, NODES));
      await joining;
      await Promise.all(instances.map((instance) => patchStale(stage, instance, replaces)));
      await stage.untilUp();
      await waitOnStage(
        "the addresses to be the cloud's again",
        () => areTheClouds(stage, instances),
        120_000,
      );
    },
  };
}

async function patchStale(stage: Stage, instance: Ec2Instance, replaces: boolean): Promise<void> {
  const { privateDnsName: name, privateIpAddress } = instance;
  const addresses = [
    { type: "InternalIP", address: privateIpAddress },
    { type: "Hostname", address: "what-the-kubelet-calls-itself" },
  ];
  const body = { status: { addresses: replaces ? [...addresses, { $patch: "replace" }] : addresses } };
  const contentType = "application/strategic-merge-patch+json";
  await stage.world.ask({ method: "PATCH", path: `/api/v1/nodes/${name}/status`, contentType, body });
}

/** Checks after 20 to 60 s of the clock, which advances meanwhile. */
async function areTheClouds(stage: Stage, instances: readonly Ec2Instance[]): Promise<boolean> {
  const nodes = new Map((await stage.world.nodes()).map((node) => [node.metadata.name, node]));
  const differ = instances.some(({ privateDnsName }) => {
    const addresses = nodes.get(privateDnsName)?.status.addresses ?? [];
    return !addresses.some(({ type, address }) => type === "Hostname" && address === privateDnsName);
  });
  if (differ) stage.clock.skip(1_000);
  return !differ;
}
