import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { logText } from "#core/log-text.ts";
import { parseShellBlocks } from "#test/docs/shell-blocks.ts";
import { LogLine } from "#test/log-line.ts";
import { findProgram } from "#test/setup/find-program.ts";

const run = promisify(execFile);
const page = readFileSync(new URL("../../docs/how-to/troubleshoot.md", import.meta.url), "utf8");
const section =
  page.split("\n## What was done about a cluster, or about one node\n")[1]?.split("\n## ")[0] ?? "";
const [insights = "", loki = ""] = [...section.matchAll(/```text\n([\s\S]*?)```/g)].map(([, text]) => text);
const [block] = parseShellBlocks(section);

const NODE = "ip-10-0-1-17.eu-central-1.compute.internal";
const FACTS: ReadonlySet<string> = new Set(Object.keys(LogLine.shape));

describe("queries of logs", () => {
  test.each([
    [
      "CloudWatch Logs Insights",
      [...insights.matchAll(/(?:fields |filter |, )(@?[\w.]+)/g)].map(([, name]) => name),
      11,
    ],
    ["Loki", [...loki.matchAll(/\| (\w+) =/g)].map(([, name]) => name), 2],
    [
      "jq",
      [...(block?.commands ?? "").matchAll(/(?:\.|[{] ?|, )([a-zA-Z]+)(?= ==|[,}])/g)].map(
        ([, name]) => name,
      ),
      11,
    ],
  ])("for %s use field names that log lines have", (_, names, atLeast) => {
    expect(names.length).toBeGreaterThanOrEqual(atLeast);
    const facts = names.map((name = "") => name.split(".", 1)[0] ?? "");
    expect(facts.filter((name) => name !== "@timestamp" && !FACTS.has(name))).toEqual([]);
  });

  const jq = findProgram("jq");
  test("for jq find exactly the lines about a node of a cluster", async ({ skip }) => {
    const program = await jq;
    if (program === undefined) return skip("there is no jq on the PATH");
    const folder = await mkdtemp(join(tmpdir(), "log-"));
    const because = { code: "InstanceNotFound", message: 'no instance "\u001B' };
    const lineOf = (cluster: string, name: string) =>
      logText(
        {
          ...{
            level: "warn",
            event: "Object",
            cluster,
            controller: "cloud-node-controller",
            name,
            outcome: "retry",
          },
          because,
          eventId: "e.1",
        },
        new Date(0),
      );
    const lines = [
      lineOf("tenant-a", NODE),
      "no JSON {",
      lineOf("tenant-b", NODE),
      lineOf("tenant-a", "ip-10-0-1-18"),
      logText({ level: "info", event: "Serving", url: "http://127.0.0.1:1", clusters: 2 }, new Date(0)),
    ];
    await writeFile(join(folder, "relay.log"), `${lines.join("\n")}\n`);
    const { stdout } = await run("bash", ["-ec", block?.commands ?? "exit 1"], { cwd: folder });
    await rm(folder, { recursive: true });
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      expect.objectContaining({
        event: "Object",
        outcome: "retry",
        eventId: "e.1",
        because: expect.objectContaining({ code: "InstanceNotFound" }),
      }),
    ]);
  });
});
