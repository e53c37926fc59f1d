import { mkdtemp, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockFile } from "#config/file-lock.ts";
import { createFileSwitch, getDefaultSwitch } from "#config/switch/open-switch.ts";
import { describeRecord, describeSwitch, type OwnedSwitch } from "#test/config/switch/contract.ts";

async function ownFile(): Promise<OwnedSwitch> {
  const parent = await mkdtemp(join(tmpdir(), "switch-"));
  const folder = join(parent, "etc");
  const { mkdir } = await import("node:fs/promises");
  await mkdir(folder);
  const file = join(folder, "clusters.stop.json");
  return {
    open: () => createFileSwitch(file, lockFile),
    // A file system that is gone.
    break: () => rename(folder, `${folder}-away`),
    mend: () => rename(`${folder}-away`, folder),
    spoil: () => writeFile(file, '{"version":1,"stopped":["everything"]}'),
    later: () => writeFile(file, '{"version":2,"halted":{}}'),
    close: () => rm(parent, { recursive: true }),
  };
}

describeSwitch("a file", ownFile);
describeRecord("a file", ownFile);

describe("a file that is being changed", () => {
  let folder: string;
  const signal = new AbortController().signal;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "switch-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("is changed after a writer was killed in the middle", async () => {
    const file = join(folder, "stop.json");
    await writeFile(`${file}.lock`, "");
    const minuteAgo = new Date(Date.now() - 60_000);
    await utimes(`${file}.lock`, minuteAgo, minuteAgo);
    await createFileSwitch(file, lockFile).change({ kind: "stop", entry: { what: "deletes" } }, signal);
    expect(await createFileSwitch(file, lockFile).read(signal)).toEqual([{ what: "deletes" }]);
    expect(await readdir(folder)).toEqual(["stop.json"]);
  });

  test("keeps every confirmed stop of writers that find a killed one's lock at the same time", async () => {
    for (let trial = 0; trial < 30; trial += 1) {
      const file = join(folder, `stop-${trial}.json`);
      await writeFile(`${file}.lock`, "");
      const minuteAgo = new Date(Date.now() - 60_000);
      await utimes(`${file}.lock`, minuteAgo, minuteAgo);
      const clusters = ["a", "b", "c", "d"];
      const changes = clusters.map((cluster) =>
        createFileSwitch(file, lockFile).change({ kind: "stop", entry: { what: "writes", cluster } }, signal),
      );
      const results = await Promise.allSettled(changes);
      const confirmed = clusters.filter((_, index) => results[index]?.status === "fulfilled");
      const stopped = (await createFileSwitch(file, lockFile).read(signal)).map(({ cluster }) => cluster);
      expect(stopped).toEqual(expect.arrayContaining(confirmed));
      expect(confirmed.length).toBeGreaterThan(0);
    }
  });

  test("stays unchanged while another writer holds the lock", async () => {
    const file = join(folder, "stop.json");
    await writeFile(`${file}.lock`, "");
    const given = createFileSwitch(file, lockFile).change(
      { kind: "stop", entry: { what: "deletes" } },
      AbortSignal.abort(),
    );
    await expect(given).rejects.toMatchObject({ code: "Contended" });
  });

  test.each([
    ["garbage", "stopped", "Malformed"],
    ["half a record", '{"version":1,"stopped":[{"what"', "Malformed"],
    ["an unknown kind of stop", '{"version":1,"stopped":[{"what":"everything"}]}', "Malformed"],
    ["an unknown key", '{"version":1,"stopped":[],"except":["blue"]}', "Malformed"],
    ["a later version", '{"version":7}', "OtherVersion"],
  ])("with %s in it is not read", async (_, text, code) => {
    const file = join(folder, "stop.json");
    await writeFile(file, text);
    await expect(createFileSwitch(file, lockFile).read(signal)).rejects.toMatchObject({ code });
  });
});

test.each([
  ["clusters.yaml", "clusters.stop.json"],
  ["/etc/serverless-ccm/clusters.yaml", "/etc/serverless-ccm/clusters.stop.json"],
  ["ssm:/serverless-ccm/clusters/", "ssm:/serverless-ccm/clusters-stop/"],
  ["ssm:/serverless-ccm/clusters", "ssm:/serverless-ccm/clusters-stop/"],
  ["kubernetes:m.kubeconfig?namespace=a", "kubernetes:m.kubeconfig?namespace=a"],
])("the default switch for %s is %s", (clusters, expected) =>
  expect(getDefaultSwitch(clusters)).toBe(expected),
);
