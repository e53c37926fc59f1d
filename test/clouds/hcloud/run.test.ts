import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ended, runProgram } from "#test/cli/program.ts";
import { NETWORK, SELECTOR, TOKEN } from "#test/clouds/hcloud/fake-server.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-hcloud-"));
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "blue", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "blue", user: { token: "s3cret" } }],
    contexts: [{ name: "blue", context: { cluster: "blue", user: "blue" } }],
    "current-context": "blue",
  };
  await writeFile(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});
afterAll(() => rm(folder, { recursive: true }));

const SIGNED_IN = { HCLOUD_TOKEN: TOKEN };

test.each<[string, string, Record<string, string>, readonly string[]]>([
  [
    "no network and no labels",
    "{}",
    SIGNED_IN,
    ["network or labelSelector is required", "(or set HCLOUD_NETWORK)"],
  ],
  [
    "labels that say only what servers lack",
    'labelSelector: "!cluster"',
    SIGNED_IN,
    ["--cloud-config labelSelector: ", "says what servers have"],
  ],
  [
    "labels that are none",
    'labelSelector: "cluster in ("',
    SIGNED_IN,
    ["--cloud-config labelSelector: ", "a label selector such as cluster=blue"],
  ],
  ["a setting misspelt", `netwrok: ${NETWORK}`, SIGNED_IN, ["netwrok"]],
  [
    "an address family that is none",
    `network: ${NETWORK}\naddressFamily: ipv5`,
    SIGNED_IN,
    ["--cloud-config addressFamily: "],
  ],
  ["no token", `network: ${NETWORK}`, {}, ["tokenFile is required where HCLOUD_TOKEN is not set"]],
  [
    "a token file that is not there",
    `labelSelector: ${SELECTOR}\ntokenFile: /nowhere/token`,
    SIGNED_IN,
    ["/nowhere/token cannot be read"],
  ],
  ["a token of two lines", `network: ${NETWORK}`, { HCLOUD_TOKEN: `${TOKEN}\n${TOKEN}` }, ["HCLOUD_TOKEN"]],
  [
    "the token in two places",
    `network: ${NETWORK}\ntokenFile: /nowhere/token\ncredentials: {file: /nowhere/other}`,
    SIGNED_IN,
    ["--cloud-config credentials: names the API token a second time"],
  ],
  ["the token itself among the settings", `network: ${NETWORK}\ntoken: ${TOKEN}`, SIGNED_IN, ["token"]],
  [
    "http to elsewhere, from the environment",
    `network: ${NETWORK}`,
    { ...SIGNED_IN, HCLOUD_ENDPOINT: "http://api.example.com/v1" },
    ["--cloud-config endpoint: https is required"],
  ],
])("run with %s ends with 2 and says so", async (_, config, environment, messages) => {
  const { code, stderr } = await run(config, environment);
  expect(code).toBe(2);
  for (const message of messages) expect(stderr).toContain(message);
  expect(stderr).not.toContain(TOKEN);
});

async function run(config: string, environment: Record<string, string>): Promise<Ended> {
  await writeFile(join(folder, "cloud.yaml"), config);
  const flags = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
  const none = { HCLOUD_TOKEN: "", HCLOUD_TOKEN_FILE: "", HCLOUD_ENDPOINT: "", HCLOUD_NETWORK: "" };
  return runProgram(["run", "--cloud-provider", "hcloud", ...flags], "", { ...none, ...environment });
}
