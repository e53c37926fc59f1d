import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EditResult, replaceClustersFile, withDryRun } from "#config/edit-clusters-file.ts";

const ENTRY = `server: https://a.example:6443
    cloud: { provider: aws, region: eu-central-1, vpc: vpc-0a }`;
const FILE = `# Our tenants.
clusters:
  - name: other # untouched
    ${ENTRY}
    policies: { dryRun: true }   # waits, too

  - name: tenant-a
    ${ENTRY}
    policies:
      # until it is handed over
      dryRun: true # by whom: the platform team
`;
const BARE = `clusters:
  - name: tenant-a
    ${ENTRY} # of the old account
  # the last one
  - name: other
    ${ENTRY}
`;

function edited(text: string, dryRun: boolean, name = "tenant-a"): EditResult {
  return withDryRun(text, "clusters.yaml", name, dryRun);
}

describe("the dry run of an entry", () => {
  test("is replaced in its place, and nothing else of the file", () => {
    const result = edited(FILE, false);
    const after = FILE.replace("dryRun: true # by", "dryRun: false # by");
    expect(result).toEqual({ kind: "edited", before: FILE, after });
  });

  test("is replaced in a mapping on one line", () => {
    const result = edited(FILE, false, "other");
    expect(result.kind === "edited" && result.after).toBe(
      FILE.replace("{ dryRun: true }", "{ dryRun: false }"),
    );
  });

  test("is replaced in JSON", () => {
    const json = JSON.stringify({
      clusters: [
        {
          name: "tenant-a",
          server: "https://a.example:6443",
          cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-0a" },
          policies: { dryRun: true },
        },
      ],
    });
    const result = edited(json, false);
    expect(result.kind === "edited" && result.after).toBe(json.replace('"dryRun":true', '"dryRun":false'));
  });

  test("is added where it is not written, and comments stay", () => {
    const result = edited(BARE, true);
    const after = result.kind === "edited" ? result.after : "";
    expect(after).toContain("policies:\n      dryRun: true");
    expect(after).toContain("# of the old account");
    expect(after).toContain("# the last one");
    expect(edited(after, true)).toEqual({ kind: "same" });
    expect(edited(after, true, "other").kind).toBe("edited");
  });

  test.each([
    ["as it is wanted", FILE, true, "tenant-a"],
    ["off where it is not written", BARE, false, "tenant-a"],
  ])("is left alone %s", (_, text, dryRun, name) => {
    expect(edited(text, dryRun, name)).toEqual({ kind: "same" });
  });

  test.each([
    ["of a missing entry", FILE, "missing", "has no usable entry of the name missing"],
    [
      "of an entry whose policies are another's, too",
      BARE.replace("# of the old account", "\n    policies: &dry\n      dryRun: true").concat(
        "    policies: *dry\n",
      ),
      "tenant-a",
      "set policies.dryRun of tenant-a to false by hand",
    ],
    [
      "of an entry that uses another's",
      BARE.replace("# of the old account", "\n    policies: &dry\n      dryRun: true").concat(
        "    policies: *dry\n",
      ),
      "other",
      "set policies.dryRun of other to false by hand",
    ],
  ])("is refused %s", (_, text, name, words) => {
    const result = edited(text, false, name);
    expect(result.kind === "refused" && result.because).toContain(words);
  });
});

describe("the file", () => {
  let folder: string;
  let file: string;
  const change = { kind: "edited", before: FILE, after: BARE } as const;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "edit-"));
    file = join(folder, "clusters.yaml");
    await writeFile(file, FILE, { mode: 0o640 });
    await chmod(file, 0o640);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  test("is replaced atomically with its mode, and no other file remains", async () => {
    await replaceClustersFile(file, change);
    expect(await readFile(file, "utf8")).toBe(BARE);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await readdir(folder)).toEqual(["clusters.yaml"]);
  });

  test("is replaced where a link leads to it", async () => {
    const link = join(folder, "link.yaml");
    await symlink(file, link);
    await replaceClustersFile(link, change);
    expect(await readFile(file, "utf8")).toBe(BARE);
    expect((await readdir(folder)).toSorted()).toEqual(["clusters.yaml", "link.yaml"]);
  });

  test("is replaced by one of several edits at a time: the others are rejected", async () => {
    for (let trial = 0; trial < 20; trial += 1) {
      await writeFile(file, FILE);
      const results = await Promise.allSettled([1, 2, 3].map(() => replaceClustersFile(file, change)));
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await readFile(file, "utf8")).toBe(change.after);
    }
  });

  test("that someone else has changed meanwhile stays unchanged", async () => {
    await writeFile(file, `${FILE}# changed\n`);
    await expect(replaceClustersFile(file, change)).rejects.toThrow("has changed since it was read");
    expect(await readFile(file, "utf8")).toBe(`${FILE}# changed\n`);
    expect(await readdir(folder)).toEqual(["clusters.yaml"]);
  });
});
