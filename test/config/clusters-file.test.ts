import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ClustersFileError, parseClustersFile, readClustersFile } from "#config/clusters-file.ts";

const VALID = `clusters:
  - name: blue
    server: https://api.blue.example
    cloud: { provider: memory, instancesFile: instances.json }
`;

describe("parsing a clusters file", () => {
  it("fills in the defaults", () => {
    expect(parseClustersFile(VALID, "clusters.yaml")).toMatchObject([
      { name: "blue", limits: { invocations: 4 }, policies: { dryRun: false } },
    ]);
  });

  it.each<{ given: string; text: string; faults: [string, RegExp][] }>([
    { given: "nothing", text: "", faults: [["", /expected object/]] },
    { given: "no clusters", text: "clusters: []", faults: [["clusters", /Too small/]] },
    {
      given: "many faults, all of them told",
      text: "clusters:\n- name: Blue\n  server: http://x\n  cloud: {provider: gcp}\n  sevrer: 1\n",
      faults: [
        ["clusters[0].name", /lower-case/],
        ["clusters[0].server", /URL/],
        ["clusters[0].cloud.provider", /'aws' \| 'memory'/],
        ["clusters[0]", /sevrer/],
      ],
    },
    { given: "a key twice", text: `${VALID}    name: green\n`, faults: [["line 5", /unique/]] },
    {
      given: "a name twice",
      text: `${VALID}${VALID.split("\n").slice(1).join("\n")}`,
      faults: [["clusters", /same name/]],
    },
    { given: "a tab", text: "clusters:\n\t- a: b", faults: [["line 2", /[Tt]ab/]] },
    { given: "two documents", text: `${VALID}---\n${VALID}`, faults: [["line 5", /multiple documents/]] },
    { given: "a tag", text: "clusters: !js x", faults: [["line 1", /Unresolved tag/]] },
    { given: "an alias of nothing", text: "clusters: *x", faults: [["", /alias/]] },
    { given: "aliases that multiply", text: bomb(), faults: [["", /alias/]] },
  ])("$given", ({ text, faults }) => {
    const error = failureOf(() => parseClustersFile(text, "clusters.yaml"));
    expect(error).toMatchObject({ name: "ClustersFileError", code: "Invalid", file: "clusters.yaml" });
    expect(error.faults).toMatchObject(
      faults.map(([path, words]) => ({ path, message: expect.stringMatching(words) })),
    );
    for (const { path } of error.faults) expect(error.message).toContain(path);
  });

  it("refuses what is too large to be meant", () => {
    expect(failureOf(() => parseClustersFile(" ".repeat(4 * 1024 * 1024 + 1), "f"))).toMatchObject({
      code: "TooLarge",
    });
  });
});

describe("reading a clusters file", () => {
  let file: string;
  beforeEach(async () => {
    file = join(await mkdtemp(join(tmpdir(), "clusters-")), "clusters.yaml");
  });
  afterEach(() => rm(join(file, ".."), { recursive: true, force: true }));

  it("finds clusters by name, and undefined where there is none of it", async () => {
    await writeFile(file, VALID);
    const clusters = readClustersFile(file);
    expect([(await clusters("blue"))?.server, await clusters("green")]).toEqual([
      "https://api.blue.example",
      undefined,
    ]);
  });

  it("lists all of them", async () => {
    await writeFile(file, VALID);
    expect((await readClustersFile(file).all()).map(({ name }) => name)).toEqual(["blue"]);
  });

  it("sees a change", async () => {
    await writeFile(file, VALID);
    const clusters = readClustersFile(file);
    await clusters("blue");
    await writeFile(file, VALID.replaceAll("blue", "green"));
    expect([await clusters("blue"), (await clusters("green"))?.name]).toEqual([undefined, "green"]);
  });

  it.each([
    { given: "is asked for it fresh", fresh: true, server: "https://api.grey.example" },
    { given: "may answer from memory", fresh: false, server: "https://api.blue.example" },
  ])("reads a file that looks unchanged only if it $given", async ({ fresh, server }) => {
    const time = new Date("2026-03-01T12:00:00Z");
    await writeFile(file, VALID);
    await utimes(file, time, time);
    const clusters = readClustersFile(file);
    await clusters("blue");
    await writeFile(file, VALID.replace("api.blue", "api.grey"));
    await utimes(file, time, time);
    expect((await clusters("blue", { fresh }))?.server).toBe(server);
  });

  it("does not cover a file up that became faulty, and takes it up again when it is mended", async () => {
    await writeFile(file, VALID);
    const clusters = readClustersFile(file);
    await clusters("blue");
    await writeFile(file, "clusters: 7");
    await expect(clusters("blue")).rejects.toMatchObject({ code: "Invalid" });
    await writeFile(file, VALID);
    expect(await clusters("blue")).toBeDefined();
  });

  it.each([
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
});

function failureOf(act: () => unknown): ClustersFileError {
  try {
    act();
  } catch (error) {
    if (error instanceof ClustersFileError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

/** Aliases of aliases, 2^n times as large as they look. */
function bomb(): string {
  const lines = ["a0: &a0 [x]"];
  for (let n = 1; n < 30; n += 1) lines.push(`a${n}: &a${n} [*a${n - 1}, *a${n - 1}]`);
  return lines.join("\n");
}
