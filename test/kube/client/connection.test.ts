import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openConnection } from "#kube/client/connection.ts";
import { startScriptedServer } from "#test/kube/client/scripted-server.ts";

test("a connection retired as soon as it opens ends without an uncaught error", async () => {
  const server = await startScriptedServer(() => ({ answer: 200 }), {});
  const thrown: unknown[] = [];
  const onThrown = (error: unknown): void => void thrown.push(error);
  process.on("uncaughtException", onThrown);
  try {
    const connection = await openConnection(
      {
        server: new URL(server.url),
        certificateAuthority: server.certificateAuthority,
        connectTimeoutMs: 5_000,
        pingIntervalMs: 10_000,
        pingTimeoutMs: 5_000,
        now: Date.now,
      },
      new AbortController().signal,
    );
    connection.retire();
    await connection.closed;
    await sleep(20);
    expect([connection.usable(), thrown]).toEqual([false, []]);
  } finally {
    process.off("uncaughtException", onThrown);
    await server.close();
  }
});
