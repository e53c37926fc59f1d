import { afterEach, beforeEach, expect, test } from "vitest";
import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";
import { type Stage, startStage } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 1_000;
const UP_TIMEOUT_MS = 120_000;

/**
 * No kubelet makes these nodes Ready: once they are up, the node lifecycle would check them repeatedly.
 */
const NODES_ALONE = ["--controllers", "cloud-node-controller"];

describeWithPart("control-plane", "a thousand nodes on a real API server", (binaries) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await startStage(binaries);
  });
  afterEach(() => stage?.close());

  test("that exist when the relay lists: two writes each, no read, at most 15 calls to EC2", async () => {
    await stage.join(NODES);
    await stage.run(...NODES_ALONE);
    await allUp();
    await expectTwoWritesEach();
    expect(stage.ec2.record().length).toBeLessThanOrEqual(15);
  });

  test("that register while it watches: two writes each, no read, at most 50 calls to EC2", async () => {
    const relay = await stage.run(...NODES_ALONE);
    await relay.line("Listed");
    await stage.join(NODES);
    await allUp();
    await expectTwoWritesEach();
    expect(stage.ec2.record().length).toBeLessThanOrEqual(50);
  });

  function allUp(): Promise<void> {
    const { history } = stage;
    const up = (): number =>
      [...history.records.values()].filter((node) => node.schedulableAt !== undefined).length;
    return history.until(`${NODES} nodes to come up`, () => up() === NODES, UP_TIMEOUT_MS);
  }

  async function expectTwoWritesEach(): Promise<void> {
    const records = await stage.plane.record();
    const { name: functions } = CONTROL_PLANE_USERS.node;
    const ours = records.filter(({ user, resource }) => user === functions && resource === "nodes");
    const byNode = Map.groupBy(ours, ({ name }) => name);
    expect(byNode.size).toBe(NODES);
    expect([...byNode.values()].filter(isTwoWrites).length).toBeGreaterThanOrEqual(0.95 * NODES);
    expect(records.filter(({ code }) => code === 429)).toEqual([]);
    expect([...stage.history.records.values()].filter(({ naked }) => naked)).toEqual([]);
    expect(stage.history.hole).toBeUndefined();
  }
});

function isTwoWrites(requests: readonly RequestRecord[]): boolean {
  const [first, second] = requests;
  return requests.length === 2 && first?.subresource === "status" && [first, second].every(isAppliedPatch);
}

function isAppliedPatch(request: RequestRecord | undefined): boolean {
  return request?.verb === "patch" && request.code === 200;
}
