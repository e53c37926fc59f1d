import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isYoungGenerationLimited } from "#cli/run/commands.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { startProgram } from "#test/cli/program.ts";

describe("the young generation of a heap", () => {
  test.each([
    ["that is not configured", [], undefined, false],
    ["of others' options", ["--import", "x"], "--max-old-space-size=400", false],
    ["of the command line", ["--max-semi-space-size=16"], undefined, true],
    ["of the command line, in V8's spelling", ["--max_semi_space_size=16"], undefined, true],
    ["of NODE_OPTIONS", [], "--no-warnings --max-semi-space-size=16", true],
  ])("%s", (_, execArgv, nodeOptions, limited) => {
    expect(isYoungGenerationLimited(execArgv, nodeOptions)).toBe(limited);
  });
});

describe.runIf(process.platform === "linux")("a relay", () => {
  let folder = "";
  let clustersFile = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "small-heap-"));
    clustersFile = join(folder, "clusters.yaml");
    const file = join(folder, "token");
    await writeFile(file, "token");
    const cluster = {
      name: "one",
      server: "https://127.0.0.1:1",
      signIn: { relay: { kind: "token-file", file } },
      cloud: { provider: "memory", instancesFile: "/absent" },
      controllers: ["cloud-node-controller"],
    };
    await writeClustersFile(clustersFile, cluster);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each([
    ["has a small one, in the process that was started", {}, ["--max-semi-space-size=4"]],
    ["keeps a configured size", { NODE_OPTIONS: "--max-semi-space-size=16" }, []],
  ])("%s", async (_, environment, options) => {
    const relay = startProgram(["relay", `--clusters-file=${clustersFile}`, "--function-arn=x", "--port=0"], {
      AWS_REGION: "us-east-1",
      AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:1",
      ...environment,
    });
    await relay.line("Serving");
    const words = (await readFile(`/proc/${relay.child.pid}/cmdline`, "utf8")).split("\0");
    expect(words.filter((word) => word.startsWith("--max"))).toEqual(options);
    expect(await relay.end("SIGTERM")).toBe(0);
  });
});
