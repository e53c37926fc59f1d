import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { startProcess } from "#emulators/harness/managed-process.ts";
import { WAIT } from "#test/wait-until-true.ts";

/** A program that starts another one, prints both process ids, and waits. */
const FAMILY = ["-c", 'sleep 600 & echo "$$ $!"; wait'];

/** A parent in a separate process, which starts the family and forwards its output. */
const PARENT = `
  const { startProcess } = await import("#emulators/harness/managed-process.ts");
  const family = startProcess("/bin/sh", ${JSON.stringify(FAMILY)});
  const timer = setInterval(() => {
    if (family.output() === "") return;
    process.stdout.write(family.output());
    process.stdout.end();
    clearInterval(timer);
  }, 10);
`;

describe("a managed process", () => {
  let parent: ChildProcess | undefined;
  afterEach(() => void parent?.kill("SIGKILL"));

  it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
    "ends with its parent and its own children, when %s ends the parent",
    async (signal) => {
      parent = spawn(process.execPath, ["--input-type=module", "-e", PARENT], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const pids = idsIn(parent.stdout === null ? "" : await text(parent.stdout));
      expect(pids.filter(isAlive)).toHaveLength(2);
      parent.kill(signal);
      await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), WAIT);
    },
  );

  it("ends its children when it is stopped", async () => {
    const family = startProcess("/bin/sh", FAMILY);
    await vi.waitFor(() => expect(family.output()).not.toBe(""), WAIT);
    await family.stop("SIGTERM");
    await vi.waitFor(() => expect(idsIn(family.output()).filter(isAlive)).toEqual([]), WAIT);
  });

  it("is killed when it does not stop in time", async () => {
    const stubborn = startProcess("/bin/sh", ["-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], {
      stopTimeoutMs: 50,
    });
    await vi.waitFor(() => expect(stubborn.output()).not.toBe(""), WAIT);
    await stubborn.stop("SIGTERM");
    expect(await stubborn.exited).toBe("SIGKILL");
  });

  it("reports why it could not start", async () => {
    const missing = startProcess("/nowhere/no-such-program", []);
    expect([await missing.exited, missing.output()]).toEqual([
      127,
      expect.stringContaining("no-such-program"),
    ]);
  });
});

function idsIn(output: string): readonly number[] {
  return output.trim().split(" ").map(Number);
}

/** An ended process that its parent has not reaped does not count. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, "utf8"));
}
