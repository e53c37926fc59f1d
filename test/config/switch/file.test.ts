import { mkdtemp, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileSwitch } from "#config/switch/file.ts";
import { switchBeside } from "#config/switch/open-switch.ts";
import { describeRecord, describeSwitch, type OwnedSwitch } from "#test/config/switch/contract.ts";

async function ownFile(): Promise<OwnedSwitch> {
  const parent = await mkdtemp(join(tmpdir(), "switch-"));
  const folder = join(parent, "etc");
  const { mkdir } = await import("node:fs/promises");
  await mkdir(folder);
  const file = join(folder, "clusters.stop.json");
  return {
    open: () => fileSwitch(file),
    // A file system that is not there any more.
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

  test("is changed after whoever was killed in the middle of it", async () => {
    const file = join(folder, "stop.json");
    await writeFile(`${file}.lock`, "");
    const minuteAgo = new Date(Date.now() - 60_000);
    await utimes(`${file}.lock`, minuteAgo, minuteAgo);
    await fileSwitch(file).change({ kind: "stop", entry: { what: "deletes" } }, signal);
    expect(await fileSwitch(file).read(signal)).toEqual([{ what: "deletes" }]);
    expect(await readdir(folder)).toEqual(["stop.json"]);
  });

  test("is left alone where somebody else does not let go of it", async () => {
    const file = join(folder, "stop.json");
    await writeFile(`${file}.lock`, "");
    const given = fileSwitch(file).change({ kind: "stop", entry: { what: "deletes" } }, AbortSignal.abort());
    await expect(given).rejects.toMatchObject({ code: "Contended" });
  });

  test.each([
    ["garbage", "stopped", "Malformed"],
    ["half a record", '{"version":1,"stopped":[{"what"', "Malformed"],
    ["what is stopped of nobody knows what", '{"version":1,"stopped":[{"what":"everything"}]}', "Malformed"],
    ["a key that nobody knows", '{"version":1,"stopped":[],"except":["blue"]}', "Malformed"],
    ["a later version", '{"version":7}', "OtherVersion"],
  ])("with %s in it is not read", async (_, text, code) => {
    const file = join(folder, "stop.json");
    await writeFile(file, text);
    await expect(fileSwitch(file).read(signal)).rejects.toMatchObject({ code });
  });
});

test.each([
  ["clusters.yaml", "clusters.stop.json"],
  ["/etc/serverless-ccm/clusters.yaml", "/etc/serverless-ccm/clusters.stop.json"],
  ["ssm:/serverless-ccm/clusters/", "ssm:/serverless-ccm/clusters-stop/"],
  ["ssm:/serverless-ccm/clusters", "ssm:/serverless-ccm/clusters-stop/"],
  ["kubernetes:m.kubeconfig?namespace=a", "kubernetes:m.kubeconfig?namespace=a"],
])("beside %s the switch is %s", (clusters, expected) => expect(switchBeside(clusters)).toBe(expected));
