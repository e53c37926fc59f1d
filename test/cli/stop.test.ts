import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type StopFlags, stop } from "#cli/deletion/stop.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance, register } from "#test/cli/fake-stock.ts";
import { type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let folder: string;
let file: string;
let record: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stop-"));
  file = join(folder, "clusters.yaml");
  record = join(folder, "clusters.stop.json");
  const entry = { server: "https://10.0.0.1:6443", cloud: { provider: "memory" as const } };
  await writeClustersFile(file, { name: "blue", ...entry }, { name: "green", ...entry });
});
afterEach(() => rm(folder, { recursive: true }));

async function said(flags: StopFlags): Promise<readonly string[]> {
  const lines: string[] = [];
  await stop({ clustersFile: file, ...flags }, (line) => lines.push(line), {});
  return lines;
}
const author = / since \d{4}-\d\d-\d\dT[\d:.]+Z, by \S+$/;
const stopped = async (): Promise<readonly string[]> =>
  (await said({})).map((line) => line.replace(author, ""));

test("prints what is stopped, since when and by whom, until the same flags resume it", async () => {
  expect(await stopped()).toEqual(["nothing is stopped"]);
  const [line, how] = await said({ deletes: true, all: true });
  expect(line).toMatch(author);
  expect(how).toBe(`by ${record}; it holds within 10 seconds, and until the same command with --resume`);
  await said({ writes: true, deletes: true, cluster: "blue" });
  expect([...(await stopped())].sort()).toEqual([
    "deletes of all clusters are stopped",
    "deletes of cluster blue are stopped",
    "writes of cluster blue are stopped",
  ]);
  await said({ deletes: true, all: true, resume: true });
  await said({ writes: true, cluster: "blue", resume: true });
  expect(await stopped()).toEqual(["deletes of cluster blue are stopped"]);
  expect((await said({ deletes: true, cluster: "blue", resume: true }))[0]).toBe("nothing is stopped");
});

test("prints JSON, too", async () => {
  await said({ writes: true, cluster: "green" });
  expect(JSON.parse((await said({ json: true }))[0] ?? "")).toEqual({
    switch: record,
    stopped: [{ what: "writes", cluster: "green", since: expect.any(String), by: expect.any(String) }],
  });
});

test.each<{ flags: StopFlags; message: string }>([
  { flags: { writes: true }, message: "--writes: of which clusters? Give --cluster NAME, or --all" },
  {
    flags: { deletes: true, cluster: "blue", all: true },
    message: "--all: cannot be combined with --cluster",
  },
  { flags: { resume: true }, message: "--resume: requires --writes or --deletes" },
  { flags: { deletes: true, cluster: "red" }, message: `--cluster: ${"FILE"} has no cluster red` },
  { flags: { deletes: true, cluster: "No Name" }, message: "--cluster: is not a name of a cluster" },
])("rejects $flags", async ({ flags, message }) => {
  await expect(said(flags)).rejects.toThrow(message.replace("FILE", file));
  expect(await stopped()).toEqual(["nothing is stopped"]);
});

test("does not change a malformed record without --force", async () => {
  await writeFile(record, '{ "version": 1, "stops": 7');
  await expect(said({ deletes: true, all: true })).rejects.toThrow("clusters.stop.json");
  expect(await readFile(record, "utf8")).toBe('{ "version": 1, "stops": 7');
  await said({ deletes: true, all: true, force: true });
  expect(await stopped()).toEqual(["deletes of all clusters are stopped"]);
});

test("the program ends with 2 without a switch", async () => {
  const environment = { CLUSTERS_FILE: "", STOP_SWITCH: "" };
  const { code, stderr } = await runProgram(["stop", "--writes", "--all"], "", environment);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--clusters-file: is missing")]);
});

describe("a stop while nodes join", () => {
  let program: Running | undefined;
  afterEach(() => program?.end("SIGKILL"));

  test("lasts, even for a process that was killed and restarted, and ends at once when resumed", async () => {
    const plane = await startEmbeddedControlPlane({ folder });
    const admin = connect(await getConnectOptions(plane, "admin"));
    const history = await recordNodeHistory(admin);
    try {
      const instancesFile = join(folder, "instances.json");
      await writeFile(instancesFile, JSON.stringify({ instances: [1, 2, 3].map(getInstance) }));
      await writeClustersFile(
        file,
        buildClusterEntry(plane, { name: "blue", cloud: { provider: "memory", instancesFile } }),
      );
      const start = (): Running =>
        startProgram(["run", `--clusters-file=${file}`, "--port=0", "--workers=1"]);
      program = start();
      await register(admin, 1);
      await waitUntilTrue("the first node to come up", () => history.schedulable === 1);

      await said({ writes: true, cluster: "blue" });
      expect(await program.line("Stopped")).toMatchObject({ what: "writes", cluster: "blue" });
      const heldBack = { name: "node-2", outcome: "skipped", because: { code: "Stopped" } };
      const lineOf = (running: Running) => () =>
        running.lines.some((line) => line["event"] === "Object" && line["name"] === heldBack.name);
      await register(admin, 2);
      await waitUntilTrue("the second node to be held back", lineOf(program));
      const line = program.lines.find((each) => each["event"] === "Object" && each["name"] === heldBack.name);
      expect(line).toMatchObject(heldBack);

      await program.end("SIGKILL");
      program = start();
      await waitUntilTrue("the second node to be held back again", lineOf(program));
      expect(history.schedulable).toBe(1);

      await said({ writes: true, cluster: "blue", resume: true });
      await waitUntilTrue("both to be up", () => history.schedulable === 2);
      expect(await program.end("SIGTERM")).toBe(0);
      expect([...history.records.values()].filter(({ naked }) => naked)).toEqual([]);
    } finally {
      await history.close();
      await admin.close();
      await plane.close();
    }
  }, 90_000);
});
