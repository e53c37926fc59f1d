import { afterEach, beforeEach, expect, test } from "vitest";
import { type Stage, startStage } from "#test/e2e/stage.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";

/** A restored store is noticed after a silence of at most 90 seconds. */
const RESTORE_TIMEOUT_MS = 240_000;

describeWithPart("control-plane", "while the API server", (binaries) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await startStage(binaries);
  });
  afterEach(() => stage?.close());

  async function restart(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    await stage.plane.stopServer("SIGKILL");
    await meanwhile();
    await stage.plane.startServer();
  }

  test("loses its history without the relay's knowledge, nodes that joined meanwhile come up and a deleted one stays deleted", async () => {
    const relay = await stage.run();
    await relay.line("Listed");
    const [gone, ...others] = await stage.join(5);
    if (gone === undefined) throw new Error("no node was registered");
    await stage.untilUp([gone, ...others]);
    // Frozen and without a connection: nothing waits for it in a socket's buffer.
    relay.child.kill("SIGSTOP");
    await restart();
    await stage.cluster.remove(gone.privateDnsName);
    const meanwhile = await stage.join(5);
    await restart(() => stage.plane.compact());
    relay.child.kill("SIGCONT");
    await stage.untilUp([...others, ...meanwhile]);
    const [first, ...later] = relay.lines.filter((line) => line["event"] === "Listed");
    expect(first).toMatchObject({ cause: "start" });
    // One complete list, either after the rejected watch or after the count of nodes on the new connection.
    expect(later).toHaveLength(1);
    expect(["gone", "ahead"]).toContain(later[0]?.["cause"]);
    await expect(stage.cluster.read(gone.privateDnsName)).rejects.toThrow(/404/);
  });

  testWithPart("etcdutl")(
    "goes back in time under a running relay, nodes of before and after come up",
    async () => {
      const relay = await stage.run();
      await relay.line("Listed");
      const kept = await stage.join(5);
      await stage.untilUp(kept);
      const backup = await stage.plane.backup();
      const lost = await stage.join(20);
      await stage.untilUp(lost);
      await stage.plane.restore(backup);
      const after = await stage.join(10);
      await stage.untilUp([...kept, ...after], RESTORE_TIMEOUT_MS);
      const restarted = relay.lines.some((line) => line["event"] === "Listed" && line["restarted"] === true);
      expect(restarted).toBe(true);
      expect(await relay.end("SIGTERM")).toBe(0);
    },
    RESTORE_TIMEOUT_MS + 60_000,
  );
});
