import { execFile } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { DRAIN_TIMEOUT_MS } from "#cli/relay/serve.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { listSettings, type Machine, makeMachine, UNITS } from "#test/infra/systemd-units.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const run = promisify(execFile);
const RELAY = "serverless-ccm-relay.service";
const HEALTH = "serverless-ccm-relay-health.service";
const ALL = [RELAY, HEALTH, "serverless-ccm-relay-health.timer", "serverless-ccm-relay-restart.service"];

/** In tenths; systemd rates lower values as "OK". */
const MOST_EXPOSED = "20";

const unit = await readFile(join(UNITS, RELAY), "utf8");
const [execStart = ""] = listSettings(unit, "ExecStart");
const [execStartPost = ""] = listSettings(unit, "ExecStartPost");

describeWithPart("systemd-analyze", "the units of systemd", (systemdAnalyze) => {
  let machine: Machine;
  beforeEach(async () => {
    machine = await makeMachine(systemdAnalyze);
  });
  afterEach(() => machine.close());

  const file = (name: string): string => join(machine.folder, "etc/systemd/system", name);
  const verify = () => machine.analyze(["verify", `--root=${machine.folder}`, ...ALL]);
  const judge = (name: string) =>
    machine.analyze(["security", "--offline=true", `--threshold=${MOST_EXPOSED}`, file(name)]);

  test("have no systemd-analyze findings", async () => {
    expect(await verify()).toEqual({ code: 0, said: "" });
  });

  test.each([
    ["a setting that there is not", "Restarts=always", "Unknown key"],
    ["a program that is not there", "[Service]\nExecStopPost=/usr/bin/absent", "absent is not executable"],
  ])("with %s have findings", async (_what, line, said) => {
    await appendFile(file(RELAY), `${line}\n`);
    expect((await verify()).said).toContain(said);
  });

  test.each([RELAY, HEALTH])("%s has a low exposure in systemd's rating", async (name) => {
    const judged = await judge(name);
    expect(`${judged.code} ${judged.said}`).toMatch(/^0 /);
    await writeFile(file(name), "[Service]\nExecStart=/usr/bin/node\n");
    expect((await judge(name)).code).not.toBe(0);
  });

  describe("start a relay", () => {
    let folder = "";
    let program: Running | undefined;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "systemd-relay-"));
    });
    afterEach(async () => {
      await program?.end("SIGKILL");
      program = undefined;
      await rm(folder, { recursive: true });
    });

    test("with known flags, which answers the unit's start check, reloads its clusters and ends by a signal", async () => {
      const clustersFile = join(folder, "clusters.yaml");
      const write = (...clusters: readonly object[]) => writeFile(clustersFile, stringify({ clusters }));
      const unreachable = {
        server: "https://127.0.0.1:1",
        cloud: { provider: "memory", instancesFile: "none.json" },
        signIn: { relay: { kind: "token-file", file: join(folder, "token") } },
      };
      await writeFile(join(folder, "token"), "token");
      await write({ name: "blue", ...unreachable });
      const [node, program_, ...flags] = execStart.split(" ");
      expect([node, program_]).toEqual(["/usr/bin/node", "/opt/serverless-ccm/dist/serverless-ccm.mjs"]);
      const [, prefix = ""] =
        listSettings(unit, "Environment")
          .map((each) => each.split("="))
          .find(([name]) => name === "FUNCTION_PREFIX") ?? [];
      expect(prefix).not.toBe("");
      const given = flags.map((flag) => flag.replace(`\${FUNCTION_PREFIX}`, prefix).replace("=10258", "=0"));
      program = startProgram(given, { ...AWS, CLUSTERS_FILE: clustersFile });
      const { url } = await program.line("Serving");
      const [curl = "", ...asked] = execStartPost.replace("http://127.0.0.1:10258", `${url}`).split(" ");
      await run(curl, asked);
      await write({ name: "blue", ...unreachable }, { name: "green", ...unreachable });
      program.child.kill("SIGHUP");
      const { lines } = program;
      await waitUntilTrue("green to be followed", () =>
        lines.some(({ event, cluster }) => event === "ClusterAdded" && cluster === "green"),
      );
      expect(await program.end("SIGTERM")).toBe(0);
    });
  });
});

test("the health check of the relay sends the requests of its start check", async () => {
  const health = await readFile(join(UNITS, HEALTH), "utf8");
  const urlOf = (command: string): string | undefined => /http:\S+$/.exec(command)?.[0];
  expect(listSettings(health, "ExecStart").map(urlOf)).toEqual([urlOf(execStartPost)]);
});

test("a relay's stop timeout is longer than the work in flight takes", () => {
  const [timeoutSeconds] = listSettings(unit, "TimeoutStopSec").map(Number);
  expect(timeoutSeconds).toBeGreaterThan(DRAIN_TIMEOUT_MS / 1_000);
});

test("a relay restarts after every end", () => {
  expect(listSettings(unit, "Restart")).toEqual(["always"]);
  expect(listSettings(unit, "StartLimitIntervalSec")).toEqual(["0"]);
});

const AWS = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "x",
  AWS_SECRET_ACCESS_KEY: "x",
  AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:1",
};
