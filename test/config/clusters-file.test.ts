import { describe, expect, test } from "vitest";
import { ClustersFileError, parseClustersFile } from "#config/clusters-file.ts";

const VALID = `clusters:
  - name: blue
    server: https://api.blue.example
    cloud: { provider: memory, instancesFile: instances.json }
`;
const BLUE = VALID.split("\n").slice(1).join("\n");
const GREEN = BLUE.replaceAll("blue", "green");

describe("a clusters file", () => {
  test("fills in the defaults", () => {
    expect(parseClustersFile(VALID, "clusters.yaml")).toMatchObject({
      clusters: [{ name: "blue", limits: { invocations: 4 }, policies: { dryRun: false } }],
      faulty: [],
    });
  });

  test.each<[string, string, [string, RegExp][]]>([
    ["nothing", "", [["", /expected object/]]],
    ["no clusters", "clusters: []", [["clusters", /Too small/]]],
    ["no list", "clusters: blue", [["clusters", /expected array/]]],
    ["a key beside the list", `${VALID}sevrer: 1\n`, [["", /sevrer/]]],
    ["a key twice", `${VALID}    name: green\n`, [["line 5", /unique/]]],
    ["a tab", "clusters:\n\t- a: b", [["line 2", /[Tt]ab/]]],
    ["two documents", `${VALID}---\n${VALID}`, [["line 5", /multiple documents/]]],
    ["a tag", "clusters: !js x", [["line 1", /Unresolved tag/]]],
    ["an alias of nothing", "clusters: *x", [["", /alias/]]],
    ["aliases that multiply", bomb(), [["", /alias/]]],
  ])("of %s is none, and says why", (_, text, faults) => {
    const error = failureOf(() => parseClustersFile(text, "clusters.yaml"));
    expect(error).toMatchObject({ name: "ClustersFileError", code: "Invalid", file: "clusters.yaml" });
    expect(error.faults).toMatchObject(
      faults.map(([path, words]) => ({ path, message: expect.stringMatching(words) })),
    );
    for (const { path } of error.faults) expect(error.message).toContain(path);
  });

  test("that is too large to be meant is none", () => {
    expect(failureOf(() => parseClustersFile(" ".repeat(4 * 1024 * 1024 + 1), "f"))).toMatchObject({
      code: "TooLarge",
    });
  });
});

describe("a faulty entry", () => {
  test.each<[string, string, { name: string | undefined; faults: [string, RegExp][] }[]]>([
    [
      "with many faults tells them all",
      "- name: red\n  server: http://x\n  cloud: {provider: gcp}\n  sevrer: 1\n",
      [
        {
          name: "red",
          faults: [
            ["clusters[1].server", /URL/],
            ["clusters[1].cloud.provider", /aws/],
            ["clusters[1]", /sevrer/],
          ],
        },
      ],
    ],
    [
      "whose name is none has no name",
      BLUE.replace("name: blue", "name: Blue").replace("  -", "-").replaceAll("\n    ", "\n  "),
      [{ name: undefined, faults: [["clusters[1].name", /lower-case/]] }],
    ],
    ["that is no mapping has no name", "- 7\n", [{ name: undefined, faults: [["clusters[1]", /object/]] }]],
  ])("%s, and the other one is a cluster", (_, entry, faulty) => {
    const text = `clusters:\n${GREEN.replace("  -", "-").replaceAll("\n    ", "\n  ")}${entry}`;
    const parsed = parseClustersFile(text, "clusters.yaml");
    expect(parsed.clusters.map(({ name }) => name)).toEqual(["green"]);
    expect(parsed.faulty).toMatchObject(
      faulty.map(({ name, faults }) => ({
        name,
        faults: faults.map(([path, words]) => ({ path, message: expect.stringMatching(words) })),
      })),
    );
  });

  test("of the same name as another makes that one faulty too, and no third", () => {
    const parsed = parseClustersFile(VALID + GREEN + BLUE, "clusters.yaml");
    expect(parsed.clusters.map(({ name }) => name)).toEqual(["green"]);
    expect(parsed.faulty).toEqual([
      {
        name: "blue",
        faults: [{ path: "clusters[0].name", message: "the same name as that of clusters[2]" }],
      },
      {
        name: "blue",
        faults: [{ path: "clusters[2].name", message: "the same name as that of clusters[0]" }],
      },
    ]);
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
