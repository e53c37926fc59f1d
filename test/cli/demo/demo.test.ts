import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runProgram } from "#test/cli/program.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

test.each([
  ["aws", [], "EC2 (embedded)", /cloud calls for 281 nodes: \d+ DescribeInstances/, /aws:\/\/\/eu-central-1/],
  [
    "digitalocean",
    ["--cloud-provider", "digitalocean"],
    "DigitalOcean (embedded)",
    /cloud calls for 281 nodes: .*\d+ GET \/v2\/droplets/,
    /digitalocean:\/\/\d+/,
  ],
])(
  "the demo runs its four acts to the end on %s, and every node is initialized",
  async (_, flags, words, calls, id) => {
    const { code, stdout, stderr } = await runProgram(["demo", "--nodes", "140", ...flags], "", {
      KUBEBUILDER_ASSETS: undefined,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/the relay is killed \(SIGKILL\); \d+ nodes were pending/);
    expect(stdout).toMatch(/a new relay listed \d+ nodes/);
    expect(stdout).toMatch(/burst with failures\s+140\s.*\s0\n/);
    expect(stdout).toMatch(/node writes: \d+ \(2\.0\d a node\)/);

    const [, act = ""] = /── 1\. one node joins ──\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
    const lines = act.split("\n");
    expect(lines.length).toBeLessThanOrEqual(18);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(170);
    const headings = lines.map((line) => line.slice(2, 14).trim()).filter((heading) => heading !== "");
    expect(headings).toEqual(["it joins", "event", "instance", "decision", "report", "it is now"]);
    expect(act).toMatch(/decision\s+change, Initialized: /);
    expect(act).toMatch(/patch nodes: .*remove \/spec\/taints/);
    expect(stdout.split("\n")[0]).toContain(words);
    expect(stdout).toMatch(calls);
    expect(act).toMatch(id);
    // There are no colours without a terminal.
    expect(stdout).not.toContain("\u001b");
  },
);

test("the demo ends well with functions over HTTP, too", async () => {
  const flags = ["demo", "--nodes", "130", "--platform", "http"];
  const { code, stdout, stderr } = await runProgram(flags, "", { KUBEBUILDER_ASSETS: undefined });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")[0]).toContain("HTTP → function (the real one, a process of its own)");
  expect(stdout).toMatch(/the function platform is off/);
  expect(stdout).toMatch(/burst with failures\s+130\s.*\s0\n/);
  expect(stdout).toMatch(/node writes: \d+ \(2\.0\d a node\)/);
});

test.each([
  [
    ["--platform", "moon"],
    '--platform: "moon" is not a function platform of the demo; known are lambda, http',
  ],
  [["--platform", "http", "--lambda"], "--lambda: is for --platform lambda"],
])("%j is wrong usage", async (flags, fault) => {
  const { code, stderr } = await runProgram(["demo", ...flags]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(fault)]);
});

test("an unsupported cloud is named, with the supported ones", async () => {
  const { code, stderr } = await runProgram(["demo", "--cloud-provider", "memory"]);
  expect(code).toBe(2);
  expect(stderr).toContain("known are aws, digitalocean");
});

test("with --json the first act prints all its values", async () => {
  const { code, stdout } = await runProgram(["demo", "--nodes", "130", "--json"], "", {
    KUBEBUILDER_ASSETS: undefined,
  });
  const [, act = ""] = /── 1\. one node joins ──\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
  const { before, walks, after } = JSON.parse(act);
  expect([code, before.metadata.name]).toEqual([0, after.metadata.name]);
  expect(Object.keys(walks[0])).toEqual(["event", "answers", "decisions", "report"]);
});

test.each([
  ["at once", /embedded/, "SIGINT", 130],
  ["while nodes join", /nodes join at once/, "SIGTERM", 143],
  ["while the platform is off", /the function platform is off/, "SIGINT", 130],
] as const)("ended %s it leaves nothing behind", async (_, at, signal, code) => {
  const folder = await mkdtemp(join(tmpdir(), "demo-"));
  try {
    const child = spawn(process.execPath, [MAIN, "demo", "--nodes", "130"], {
      env: { ...process.env, KUBEBUILDER_ASSETS: undefined, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let relays: number[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!at.test(line) || child.killed) return;
      relays = childrenOf(child.pid ?? 0);
      child.kill(signal);
    });
    expect(await once(child, "exit")).toEqual([code, null]);
    expect(await readdir(folder)).toEqual([]);
    await waitUntilTrue("its relay to be gone", async () => !relays.some(isRunning));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

function isRunning(pid: number): boolean {
  try {
    // A process that has ended and was not reaped yet is a zombie.
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
