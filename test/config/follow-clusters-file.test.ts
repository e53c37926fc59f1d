import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { followClustersFile } from "#config/read-clusters-file.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const entry = (name: string) => ({
  name,
  server: `https://api.${name}.example`,
  cloud: { provider: "memory", instancesFile: "instances.json" },
});

let folder: string;
let file: string;
let ending: AbortController;
let clock: ManualClock;
let said: string[];
/** The polls that have ended: each ends with a wait for the next one. */
let polls: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "follow-"));
  file = join(folder, "clusters.yaml");
  ending = new AbortController();
  polls = 0;
  const manual = createManualClock();
  clock = {
    ...manual,
    after(delayMs, callback) {
      polls += 1;
      return manual.after(delayMs, callback);
    },
  };
  said = [];
});
afterEach(async () => {
  ending.abort();
  await rm(folder, { recursive: true });
});

function follow(onReread?: (reread: () => void) => () => void): void {
  void followClustersFile({
    file,
    signal: ending.signal,
    onContent: ({ clusters, faulty }) =>
      said.push([...clusters, ...faulty].map(({ name }) => name).join(" ")),
    onError: ({ code }) => said.push(code),
    intervalMs: 1_000,
    clock,
    random: () => 0.5,
    ...(onReread && { onReread }),
  });
}

/** Waits until these were reported, and then for a few further polls. */
async function untilSaid(...expected: readonly string[]): Promise<void> {
  await waitUntilTrue(`${expected} to be said`, async () => {
    await clock.advance(1_000);
    return said.length >= expected.length;
  });
  for (let looks = 0; looks < 5; looks += 1) await clock.advance(1_000);
  expect(said).toEqual(expected);
}

test("reports the content, its changes, and each state once", async () => {
  await writeClustersFile(file, entry("blue"));
  follow();
  await untilSaid("blue");
  await writeClustersFile(file, entry("blue"), entry("green"));
  await untilSaid("blue", "blue green");
});

test("reports once that the file is gone or invalid, and reads it again later", async () => {
  await writeClustersFile(file, entry("blue"));
  follow();
  await untilSaid("blue");
  await rm(file);
  await untilSaid("blue", "Unreadable");
  await writeFile(file, "clusters: {");
  await untilSaid("blue", "Unreadable", "Invalid");
  await writeClustersFile(file, entry("green"));
  await untilSaid("blue", "Unreadable", "Invalid", "green");
});

test("rereads the file at once on request and reports it again, but not after the end", async () => {
  await writeClustersFile(file, entry("blue"));
  const listeners = new Set<() => void>();
  follow((reread) => {
    listeners.add(reread);
    return () => void listeners.delete(reread);
  });
  await untilSaid("blue");
  for (const reread of listeners) reread();
  // No time passes: it is the request alone that counts.
  await waitUntilTrue("it to be said again", () => said.length === 2);
  await writeClustersFile(file, entry("green"));
  for (const reread of listeners) reread();
  await waitUntilTrue("the news to be said", () => said.length === 3);
  expect(said).toEqual(["blue", "blue", "green"]);
  ending.abort();
  await waitUntilTrue("no listener to be left", () => listeners.size === 0);
});

test("detects a mounted ConfigMap whose folder is swapped", async () => {
  const time = new Date("2026-03-01T12:00:00Z");
  for (const [version, name] of [
    ["one", "blue"],
    ["two", "grey"],
  ] as const) {
    await mkdir(join(folder, version));
    await writeClustersFile(join(folder, version, "clusters.yaml"), entry(name));
    await utimes(join(folder, version, "clusters.yaml"), time, time);
  }
  await symlink("one", join(folder, "..data"));
  await symlink(join("..data", "clusters.yaml"), file);
  follow();
  await untilSaid("blue");
  await symlink("two", join(folder, "..new"));
  await rename(join(folder, "..new"), join(folder, "..data"));
  await untilSaid("blue", "grey");
});

test("does not take a file that is still being written", async () => {
  await writeClustersFile(file, entry("blue"), entry("green"));
  follow();
  await untilSaid("blue green");
  const lines = [0, 1, 2].map((index) => JSON.stringify(entry(`c${index}`)));
  for (let written = 1; written <= lines.length; written += 1) {
    await writeFile(
      file,
      `clusters:\n${lines
        .slice(0, written)
        .map((line) => `- ${line}\n`)
        .join("")}`,
    );
    const before = polls;
    await clock.advance(1_000);
    await waitUntilTrue("the end of the poll", () => polls > before);
  }
  await untilSaid("blue green", "c0 c1 c2");
});
