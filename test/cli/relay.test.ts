import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClusterEntry } from "#config/cluster.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { clusterEntryOf, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { untilTrue } from "#test/until-true.ts";

let folder: string;
let file: string;
let plane: EmbeddedControlPlane;
let program: Running | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "relay-"));
  file = join(folder, "clusters.yaml");
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
});
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  await plane.close();
  await rm(folder, { recursive: true });
});

const flags = () => ["relay", `--clusters-file=${file}`, "--function-arn=x", "--port=0"];
const AWS = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" };

const entry = (name: string, difference: Partial<ClusterEntry> = {}): ClusterEntry =>
  clusterEntryOf(plane, { name, cloud: { provider: "memory", instancesFile: "none.json" }, ...difference });
const signedInBy = (signIn: NonNullable<ClusterEntry["signIn"]>["relay"]): Partial<ClusterEntry> => ({
  signIn: { relay: signIn },
});
const absent = (): Partial<ClusterEntry> => signedInBy({ kind: "token-file", file: join(folder, "absent") });

async function page(path: string): Promise<[number, string]> {
  const { url } = (await program?.line("Serving")) ?? {};
  const answer = await fetch(`${url}${path}`);
  return [answer.status, await answer.text()];
}

describe("a relay of which no cluster can be followed ends with 2 and all faults", () => {
  test.each<[string, () => Promise<void>, string[]]>([
    ["a file that is no list", () => writeFile(file, "blue"), ["clusters.yaml: "]],
    [
      "faulty entries and unusable sign-ins alone",
      () =>
        writeClustersFile(
          file,
          entry("red", { server: "http://x" }),
          entry("blue", absent()),
          entry("grey", signedInBy({ kind: "kubeconfig", file: join(folder, "absent") })),
          entry("same"),
          entry("same"),
        ),
      [
        "clusters.yaml clusters[0].server: ",
        "clusters.yaml clusters[3].name: the same name as that of clusters[4]",
        "cluster blue: ",
        "cluster grey: kubeconfig ",
      ],
    ],
  ])("%s", async (_, write, messages) => {
    await write();
    const { code, stderr } = await runProgram(flags(), "", AWS);
    expect(code).toBe(2);
    for (const message of messages) expect(stderr).toContain(message);
  });
});

describe("a relay", () => {
  test("serves the clusters that it can, says why it does not the others, and follows the file", async () => {
    await writeClustersFile(
      file,
      entry("blue"),
      entry("red", { server: "http://x" }),
      entry("grey", absent()),
    );
    program = startProgram(flags(), AWS);
    const isReady = async (name: string): Promise<boolean> =>
      (await page(`/readyz/clusters/${name}`))[0] === 200;
    await untilTrue("blue to be ready", () => isReady("blue"));
    expect(await page("/readyz/clusters/red")).toEqual([
      503,
      expect.stringContaining("Invalid: clusters[1].server"),
    ]);
    expect(await page("/readyz/clusters/grey")).toEqual([503, expect.stringContaining("FileUnreadable")]);
    expect(await page("/readyz")).toEqual([200, "ok"]);

    await writeFile(join(folder, "absent"), await readFile(plane.tokenFile("relay"), "utf8"));
    await writeClustersFile(file, entry("red"), entry("grey", absent()));
    await untilTrue("red and grey to be ready", async () => (await isReady("red")) && isReady("grey"));
    await untilTrue("blue to be gone", async () => (await page("/readyz/clusters/blue"))[0] === 404);
    expect(await program.end("SIGTERM")).toBe(0);
  });

  test("ends with 0 while a sign-in is being tried again", async () => {
    await writeClustersFile(file, entry("blue"), entry("grey", absent()));
    program = startProgram(flags(), AWS);
    await program.line("SignInUnusable");
    await program.line("Serving");
    expect(await program.end("SIGTERM")).toBe(0);
  });
});
