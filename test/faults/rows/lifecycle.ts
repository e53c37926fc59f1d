import { setTimeout } from "node:timers/promises";
import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { NODES, type Row } from "#test/faults/row.ts";
import { type Stage, type StageOptions, waitOnStage } from "#test/faults/stage.ts";

const CONFIG_MAP = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/${STATE_CONFIG_MAP}`;

/** Both controllers of nodes; nodes of these rows are never Ready, so all of them are checked. */
const OPTIONS: StageOptions = {
  entry: { controllers: ["cloud-node-controller", "cloud-node-lifecycle-controller"] },
};

const MINUTE_MS = 60_000;
const GONE = 5;
const ENDING = 100;
const STAYING = 20;
/** The maximum duration of killing relays. */
const KILLING_MS = 160_000;

/** Faults of deletion, and of nodes that must be deleted. */
export const LIFECYCLE_ROWS: readonly Row[] = [
  {
    name: "wrong region: EC2 knows none of the cluster's instances",
    options: OPTIONS,
    async play(stage) {
      await upWithState(stage);
      for (const { instance } of stage.expected.values()) if (instance) stage.ec2.hide(instance.id);
      await elapse(stage, 30 * MINUTE_MS);
      if ((await deletes(stage)).length > 0) throw new Error("a node was to be deleted");
      for (const { instance } of stage.expected.values()) if (instance) stage.ec2.reveal(instance.id);
    },
  },
  {
    name: "all instances but one unseen: the brake",
    options: OPTIONS,
    async play(stage) {
      await upWithState(stage);
      const [seen, ...others] = [...stage.expected.values()].flatMap(({ instance }) => instance ?? []);
      for (const { id } of others) stage.ec2.hide(id);
      await elapse(stage, 30 * MINUTE_MS);
      const gone = await missing(stage);
      // With the proof of one instance, this is what the brake allows before it engages.
      if (gone.length > NODES / 5) throw new Error(`${gone.length} of ${NODES} nodes were deleted`);
      const before = gone.length;
      await elapse(stage, 30 * MINUTE_MS);
      if ((await missing(stage)).length > before) throw new Error("the brake let go by itself");
      if ((await readState(stage))?.["brake"] === undefined) throw new Error("the brake was not pulled");
      for (const name of gone) stage.expected.delete(name);
      if (seen !== undefined && gone.includes(seen.privateDnsName))
        throw new Error("an existing node was deleted");
    },
  },
  ...(["deleted", "rubbish", "huge"] as const).map(
    (harm): Row => ({
      name: `state of deletion: ${harm}`,
      options: OPTIONS,
      async play(stage) {
        await upWithState(stage);
        const gone = [...stage.expected].slice(0, GONE);
        await spoil(stage, harm);
        for (const [, { instance }] of gone) if (instance) stage.ec2.remove(instance.id);
        await elapse(stage, 5 * MINUTE_MS);
        if ((await deletes(stage)).length > 0) throw new Error("nodes were deleted without a state");
        await freshState(stage);
        for (const [name] of gone) stage.expected.delete(name);
        await waitOnStage(
          "the nodes without an instance to go",
          async () => (await stage.world.nodes()).length === NODES - GONE,
          60_000,
        );
      },
    }),
  ),
  {
    name: "state of deletion: the tenant says that all nodes were missed",
    options: OPTIONS,
    async play(stage) {
      await upWithState(stage);
      const longAgo = new Date(stage.clock.wallTime().getTime() - 4 * MINUTE_MS).toISOString();
      const lately = new Date(stage.clock.wallTime().getTime() - MINUTE_MS).toISOString();
      const missed = [...stage.expected.values()].map(({ uid }) => [
        uid,
        { first: longAgo, last: lately, clock: "tenant" },
      ]);
      await setState(
        stage,
        JSON.stringify({ version: 1, absences: Object.fromEntries(missed), deletions: {} }),
      );
      await elapse(stage, 10 * MINUTE_MS);
      if ((await deletes(stage)).length > 0) throw new Error("a node was to be deleted");
    },
  },
  {
    name: "two relays killed every 2 to 5 s while 100 of 120 instances end",
    options: OPTIONS,
    async play(stage) {
      await freshState(stage);
      const first = await stage.startRelayProcess();
      await stage.join(ENDING + STAYING);
      await stage.untilUp();
      await first.stop("SIGKILL");
      for (const [name, { instance }] of [...stage.expected].slice(0, ENDING)) {
        if (instance) stage.ec2.terminate(instance.id);
        stage.expected.delete(name);
      }
      const left = async (): Promise<number> => (await stage.world.nodes()).length - STAYING;
      const endMs = performance.now() + KILLING_MS;
      const livesAndDies = async (): Promise<void> => {
        while ((await left()) > 0 && performance.now() < endMs) {
          const relay = await stage.startRelayProcess();
          await setTimeout(stage.random.whole(2_000, 5_000));
          await relay.stop("SIGKILL");
        }
      };
      await Promise.all([livesAndDies(), livesAndDies()]);
      if ((await left()) > 0) throw new Error(`${await left()} of ${ENDING} nodes were not deleted`);
      await stage.startRelayProcess();
      return { nodes: STAYING, up: (await stage.world.nodes()).length };
    },
  },
  {
    name: "a finalizer and a deletionTimestamp for ever",
    options: OPTIONS,
    async play(stage) {
      await upWithState(stage);
      const [held] = [...stage.expected];
      if (held === undefined) throw new Error("no node exists");
      const [name, { instance }] = held;
      const body = { metadata: { finalizers: ["example.com/never"] } };
      const contentType = "application/merge-patch+json";
      await stage.world.ask({ method: "PATCH", path: `/api/v1/nodes/${name}`, contentType, body });
      if (instance) stage.ec2.terminate(instance.id);
      await waitOnStage("the first DELETE", async () => (await deletes(stage)).length > 0, 60_000);
      const minutes = 10;
      await elapse(stage, minutes * MINUTE_MS);
      const sent = (await deletes(stage)).length;
      if (sent > minutes) throw new Error(`${sent} times DELETE in ${minutes} minutes`);
      // It exists, is being deleted, and is no longer ours.
      stage.expected.delete(name);
    },
  },
];

async function upWithState(stage: Stage): Promise<void> {
  await freshState(stage);
  await stage.startRelay();
  await stage.join(NODES);
  await stage.untilUp();
}

/** Waits so much of the stage's clock, which advances by itself while nothing is in flight. */
async function elapse({ clock }: Stage, durationMs: number): Promise<void> {
  const endMs = clock.now() + durationMs;
  await waitOnStage(`${durationMs / MINUTE_MS} minutes of the clock`, () => clock.now() >= endMs, 120_000);
}

/** Returns every DELETE of a node that we sent, with any answer. */
async function deletes(stage: Stage): Promise<readonly { readonly name?: string }[]> {
  const isOurs = (user: string): boolean => user.startsWith("serverless-ccm-");
  return (await stage.audit()).filter(
    ({ user, verb, resource }) => isOurs(user) && verb === "delete" && resource === "nodes",
  );
}

async function missing(stage: Stage): Promise<readonly string[]> {
  const there = new Set((await stage.world.nodes()).map(({ metadata }) => metadata.name));
  return [...stage.expected.keys()].filter((name) => !there.has(name));
}

/** Restores the ConfigMap of the manifests. */
async function freshState(stage: Stage): Promise<void> {
  await stage.world.admin.send({ method: "DELETE", path: CONFIG_MAP });
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: STATE_CONFIG_MAP, namespace: SYSTEM_NAMESPACE },
  };
  await stage.world.ask({ method: "POST", path: CONFIG_MAP.slice(0, CONFIG_MAP.lastIndexOf("/")), body });
}

async function setState(stage: Stage, state: string): Promise<void> {
  const contentType = "application/merge-patch+json";
  await stage.world.ask({ method: "PATCH", path: CONFIG_MAP, contentType, body: { data: { state } } });
}

async function readState(stage: Stage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { body } = await stage.world.ask({ method: "GET", path: CONFIG_MAP });
  const text = JSON.parse(body).data?.state;
  return text === undefined ? undefined : JSON.parse(text);
}

async function spoil(stage: Stage, harm: "deleted" | "rubbish" | "huge"): Promise<void> {
  if (harm === "deleted") await stage.world.ask({ method: "DELETE", path: CONFIG_MAP });
  else await setState(stage, harm === "huge" ? `{"version":1,"x":"${"x".repeat(900_000)}"}` : "{{{ not JSON");
}
