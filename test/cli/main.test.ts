import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { runProgram } from "#test/cli/program.ts";

const helpOf = async (command: string): Promise<string> => (await runProgram([command, "--help"])).stdout;

/** Returns the flags that a help text describes, each at the start of a line. */
const flagsIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);

const PRINTABLE = /^[\n\x20-\x7E]+$/;

describe("help", () => {
  test.each([
    [["--help"]],
    [["demo", "--help"]],
    [["brake", "--help"]],
    [["doctor", "--help"]],
    [["explain", "--help"]],
    [["decide", "--help"]],
    [["handover", "--help"]],
    [["handback", "--help"]],
    [["clusters", "--help"]],
    [["clusters", "check", "--help"]],
    [["clusters", "hash", "--help"]],
    [["clusters", "list", "--help"]],
    [["infra", "--help"]],
    [["infra", "authentication-config", "--help"]],
    [["infra", "admission-url", "--help"]],
  ])("%j fits a screen and ends with 0", async (flags) => {
    const { code, stdout } = await runProgram(flags);
    const lines = stdout.split("\n");
    expect(code).toBe(0);
    expect(lines.length).toBeLessThanOrEqual(36);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  describe("of run and relay", async () => {
    const reference = await readFile(
      new URL("../../docs/reference/configuration.md", import.meta.url),
      "utf8",
    );
    const [run, relay] = await Promise.all([helpOf("run"), helpOf("relay")]);

    test.each([
      ["run", run],
      ["relay", relay],
    ])("has every flag of %s below a heading, in lines that fit", (_command, text) => {
      const lines = text.split("\n");
      expect(lines.filter((line) => /^\S.*:$/.test(line)).length).toBeGreaterThan(4);
      expect(lines).not.toContain("Options:");
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
    });

    test("has the same flags as the reference", () => {
      const helped = new Set([...flagsIn(run), ...flagsIn(relay)]);
      const section = reference.split("## Flags\n")[1]?.split("\n### While the platform fails", 1)[0] ?? "";
      const cells = [...section.matchAll(/^\| (`--.*?`) \|/gm)].map(([, cell = ""]) => cell);
      const referred = cells.flatMap((cell) => cell.match(/--[a-z-]+/g) ?? []);
      helped.delete("--help");
      expect(referred.toSorted()).toEqual([...helped].toSorted());
      expect(referred.length).toBeGreaterThan(35);
    });
  });
});

describe("wrong usage ends with 2 and says what is wrong", () => {
  test.each([
    ["an unknown command", ["rnu"], "unknown command"],
    ["an unknown flag", ["run", "--prot", "1"], "unknown option"],
    ["a missing kubeconfig", ["run", "--cloud-provider", "aws"], "--kubeconfig: is required"],
    ["a relay without a function", ["relay", "--clusters-file", "/absent.yaml"], "--function-prefix"],
    [
      "a missing clusters file",
      ["relay", "--function-prefix", "x", "--clusters-file", "/absent.yaml"],
      "/absent.yaml",
    ],
    [
      "a relay without a region",
      ["relay", "--function-prefix", "x", "--clusters-file", "/absent.yaml"],
      "--region: is missing: give it, set AWS_REGION, or give your AWS profile a region",
    ],
    [
      "a relay of an invalid region",
      ["relay", "--function-prefix", "x", "--clusters-file", "/absent.yaml", "--region", "a b"],
      '--region: "a b" is not a region; give one such as eu-central-1',
    ],
    [
      "an unknown detail of metrics",
      ["run", "--metrics-detail", "node"],
      '--metrics-detail: "node" is neither; give cluster or fleet',
    ],
    ["a demo of no nodes", ["demo", "--nodes", "0"], "--nodes"],
    [
      "flags about nodes that contradict each other",
      ["run", "--delete-nodes=false", "--delete-unseen-nodes"],
      "--delete-unseen-nodes: contradicts --delete-nodes=false",
    ],
    [
      "a flag about the nodes of one cluster with a clusters file",
      ["relay", "--function-prefix", "x", "--clusters-file", "/absent.yaml", "--delete-nodes=false"],
      "--delete-nodes: describes one cluster, and cannot be combined with --clusters-file",
    ],
    ["an explanation of no node", ["explain"], "missing required argument 'what'"],
    ["a brake of no cluster", ["brake"], "--kubeconfig: is required"],
  ])("%s", async (_given, flags, message) => {
    const { code, stderr } = await runProgram(flags, "", {
      CLUSTERS_FILE: undefined,
      KUBECONFIG: undefined,
      AWS_REGION: undefined,
      AWS_CONFIG_FILE: "/absent",
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});

describe("decide", async () => {
  const example = await readFile(new URL("../../docs/examples/event.json", import.meta.url), "utf8");

  test("prints the decision of the documented example", async () => {
    const { code, stdout } = await runProgram(["decide"], example);
    const decisions = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(decisions.length).toBe(JSON.parse(example).event.objects.length);
    expect(decisions[0]).toMatchObject({ kind: "change", object: { kind: "Node" } });
  });

  test.each([
    ["no JSON", "{", "standard input: is not JSON"],
    ["an event of another version", JSON.stringify({ version: 9 }), "version"],
    [
      "an event next to its instances",
      '{"event":{},"instances":[]}',
      "faults in the event:\n  event.version: ",
    ],
    ["nothing", "", "standard input"],
  ])("%s is rejected by path", async (_given, input, message) => {
    const { code, stderr } = await runProgram(["decide"], input);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  test("escapes what acts on a terminal, without a change for readers of JSON", async () => {
    const name = "a\u001B[2J\u009B31m\u202E";
    const input = JSON.parse(example);
    input.event.objects[0].metadata.name = name;
    const { code, stdout } = await runProgram(["decide"], JSON.stringify(input));
    expect(stdout).toMatch(PRINTABLE);
    expect([code, JSON.parse(stdout.split("\n")[0] ?? "").object.name]).toEqual([0, name]);
  });

  test("escapes it in errors as well", async () => {
    const input = JSON.parse(example).event;
    input.related = { "\u009B31m\u202E": 1 };
    const { code, stderr } = await runProgram(["decide"], JSON.stringify(input));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(PRINTABLE) });
    expect(stderr).toContain("\\u{009B}31m");
  });
});
