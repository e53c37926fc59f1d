import { afterEach, beforeEach, expect, test } from "vitest";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { formatObjectPath } from "#core/resources/resource.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TIMEOUT_MS = 60_000;
const SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown";

describeWithPart("control-plane", "the lifecycle of nodes on a real API server and EC2", (binaries) => {
  let stage: Stage;
  let admin: Transport;
  beforeEach(async () => {
    stage = await startStage(binaries);
    admin = await stage.cluster.transport("admin");
  });
  afterEach(() => stage?.close());

  const nodes = async (): Promise<readonly Node[]> =>
    JSON.parse((await admin.send({ method: "GET", path: "/api/v1/nodes" })).body).items;
  const names = async (): Promise<readonly string[]> =>
    (await nodes()).map(({ metadata }) => metadata.name).toSorted();
  const ready = async (name: string, status: "True" | "Unknown"): Promise<void> => {
    const condition = {
      type: "Ready",
      status,
      lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
    };
    await stage.cluster.patch(`${name}/status`, [
      { op: "add", path: "/status/conditions", value: [condition] },
    ]);
  };
  const hasShutdownTaint = async (name: string): Promise<boolean> =>
    (await stage.cluster.read(name)).spec.taints?.some(({ key }) => key === SHUTDOWN) ?? false;

  test("a stopped instance marks its node until it is Ready; terminated ones have their nodes deleted, but no Ready ones", async () => {
    const running = await stage.run("--node-monitor-period", "1s");
    await running.line("Listed");
    const instances = await stage.join(12);
    await stage.untilUp(instances);
    const [stopped, survivor, ...gone] = instances;
    if (stopped === undefined || survivor === undefined) throw new Error("there are no instances");
    expect((await nodes()).every(({ metadata }) => metadata.annotations?.[INSTANCE_ANNOTATION])).toBe(true);

    await ready(survivor.privateDnsName, "True");
    stage.ec2.setState(stopped.id, "stopped");
    await waitUntil("the mark", () => hasShutdownTaint(stopped.privateDnsName), TIMEOUT_MS);
    stage.ec2.setState(stopped.id, "running");
    await ready(stopped.privateDnsName, "True");
    await waitUntil("no mark", async () => !(await hasShutdownTaint(stopped.privateDnsName)), TIMEOUT_MS);

    for (const { id } of [survivor, ...gone]) stage.ec2.terminate(id);
    await waitUntil("the deletions", async () => (await nodes()).length === 2, TIMEOUT_MS);
    expect(await names()).toEqual([stopped.privateDnsName, survivor.privateDnsName].toSorted());
    expect(await running.end("SIGTERM")).toBe(0);
    expect(await stage.flaws()).toEqual([]);
  });

  test("nothing is deleted while the ConfigMap is missing, and missing instances' nodes go when it exists again", async () => {
    const path = formatObjectPath(STATE, STATE.at);
    const kept = JSON.parse((await admin.send({ method: "GET", path })).body);
    const running = await stage.run("--node-monitor-period", "1s");
    await running.line("Listed");
    const instances = await stage.join(3);
    await stage.untilUp(instances);
    await admin.send({ method: "DELETE", path });
    const [gone] = instances;
    if (gone === undefined) throw new Error("there are no instances");
    stage.ec2.terminate(gone.id);
    const node = await stage.cluster.read(gone.privateDnsName);
    const reasons = async () => (await stage.cluster.events(node)).map((event) => event["reason"]);
    await waitUntil(
      "the Warning",
      async () => (await reasons()).includes("DeletionStateUnusable"),
      TIMEOUT_MS,
    );
    expect(await names()).toHaveLength(3);
    const { apiVersion, kind } = kept;
    const metadata = { namespace: STATE.at.namespace, name: STATE.at.name };
    const body = { apiVersion, kind, metadata, data: { [STATE_KEY]: '{"version":1}' } };
    await admin.send({ method: "POST", path: path.slice(0, path.lastIndexOf("/")), body });
    await waitUntil("the deletion", async () => (await names()).length === 2, 120_000);
    expect(await reasons()).toContain("DeletingNode");
    expect(await running.end("SIGTERM")).toBe(0);
  });
});
