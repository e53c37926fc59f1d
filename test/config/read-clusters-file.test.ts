import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readClustersFile } from "#config/read-clusters-file.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";

const entry = (name: string, difference: object = {}) => ({
  name,
  server: `https://api.${name}.example`,
  cloud: { provider: "memory", instancesFile: "instances.json" },
  ...difference,
});

let file: string;
beforeEach(async () => {
  file = join(await mkdtemp(join(tmpdir(), "clusters-")), "clusters.yaml");
});
afterEach(() => rm(join(file, ".."), { recursive: true, force: true }));

test("finds clusters by name, and returns undefined for an unknown name", async () => {
  await writeClustersFile(file, entry("blue"));
  const clusters = readClustersFile(file);
  expect([(await clusters("blue"))?.server, await clusters("green")]).toEqual([
    "https://api.blue.example",
    undefined,
  ]);
});

test("lists all that can be used", async () => {
  await writeClustersFile(file, entry("blue"), entry("red", { server: "http://x" }), entry("green"));
  expect((await readClustersFile(file).all()).map(({ name }) => name)).toEqual(["blue", "green"]);
});

test("sees a change", async () => {
  await writeClustersFile(file, entry("blue"));
  const clusters = readClustersFile(file);
  await clusters("blue");
  await writeClustersFile(file, entry("green"));
  expect([await clusters("blue"), (await clusters("green"))?.name]).toEqual([undefined, "green"]);
});

test("rereads an unchanged file only if it is requested fresh", async () => {
  await writeClustersFile(file, entry("blue"));
  const clusters = readClustersFile(file);
  const known = await clusters("blue");
  expect(await clusters("blue")).toBe(known);
  expect(await clusters("blue", { fresh: true })).not.toBe(known);
});

test("a faulty entry fails by itself, by all its faults", async () => {
  await writeClustersFile(
    file,
    entry("blue"),
    entry("red", { server: "http://x", limits: { floorShare: 2 } }),
  );
  const clusters = readClustersFile(file);
  expect((await clusters("blue"))?.name).toBe("blue");
  await expect(clusters("red")).rejects.toMatchObject({
    code: "Invalid",
    faults: [{ path: "clusters[1].server" }, { path: "clusters[1].limits.floorShare" }],
  });
});

test("does not cover a file up that became faulty, and takes it up again when it is mended", async () => {
  await writeClustersFile(file, entry("blue"));
  const clusters = readClustersFile(file);
  await clusters("blue");
  await writeFile(file, "clusters: 7");
  await expect(clusters("blue")).rejects.toMatchObject({ code: "Invalid" });
  await writeClustersFile(file, entry("blue"));
  expect(await clusters("blue")).toBeDefined();
});

test.each([
  { given: "is not there", write: async () => {}, code: "Unreadable", says: "ENOENT" },
  {
    given: "is too large",
    write: () => writeFile(file, "#".repeat(4 * 1024 * 1024 + 1)),
    code: "TooLarge",
    says: "larger",
  },
])("says that the file $given", async ({ write, code, says }) => {
  await write();
  const message = expect.stringContaining(says);
  await expect(readClustersFile(file)("blue")).rejects.toMatchObject({ code, file, message });
});
