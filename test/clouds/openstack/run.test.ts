import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openstack } from "#clouds/openstack/kind.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";
import { CREDENTIAL, SECRET, TAG } from "#test/clouds/openstack/fake-server.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-openstack-"));
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

const SIGNED_IN = { OS_APPLICATION_CREDENTIAL_SECRET: SECRET, OS_PASSWORD: SECRET };
const VARIABLES = [...Object.values(openstack.environment).flat(), ...Object.keys(SIGNED_IN)];
const GOOD = {
  "auth-url": "https://keystone.example.com:5000/v3",
  region: "RegionOne",
  "application-credential-id": CREDENTIAL,
  "server-tag": TAG,
};

test.each<[string, Record<string, unknown>, Record<string, string>, readonly string[]]>([
  [
    "no Keystone and no region",
    { "auth-url": undefined, region: undefined },
    SIGNED_IN,
    [
      "--cloud-config auth-url: ",
      "(or set OS_AUTH_URL)",
      "--cloud-config region: ",
      "(or set OS_REGION_NAME)",
    ],
  ],
  [
    "a region that is none",
    { region: "Region One" },
    SIGNED_IN,
    ["give a region such as RegionOne (or set OS_REGION_NAME)"],
  ],
  [
    "nothing that tells its servers",
    { "server-tag": undefined },
    SIGNED_IN,
    ["network-id, server-tag or server-metadata is required"],
  ],
  [
    "a network's name for its id",
    { "network-id": "blue" },
    SIGNED_IN,
    ["--cloud-config network-id: give a network's UUID"],
  ],
  [
    "nobody who signs in",
    { "application-credential-id": undefined },
    SIGNED_IN,
    ["application-credential-id, username or user-id is required", "(or set OS_APPLICATION_CREDENTIAL_ID)"],
  ],
  [
    "a user without a project",
    { "application-credential-id": undefined, "user-id": "u-1" },
    SIGNED_IN,
    ["tenant-id or tenant-name is required beside a user"],
  ],
  ["no secret", {}, {}, ["secret-file is required where OS_APPLICATION_CREDENTIAL_SECRET is not set"]],
  [
    "no password",
    { "application-credential-id": undefined, "user-id": "u-1", "tenant-id": "p-1" },
    {},
    ["secret-file is required where OS_PASSWORD is not set"],
  ],
  [
    "a secret file that is not there",
    { "secret-file": "/nowhere/secret" },
    SIGNED_IN,
    ["/nowhere/secret cannot be read"],
  ],
  [
    "a file of certificates that is not there",
    { "ca-file": "/nowhere/ca" },
    SIGNED_IN,
    ["/nowhere/ca cannot be read"],
  ],
  [
    "the secret in two places",
    { "secret-file": "/nowhere/secret", credentials: { file: "/nowhere/other" } },
    SIGNED_IN,
    ["--cloud-config credentials: names the secret a second time"],
  ],
  [
    "the secret itself among the settings",
    { "application-credential-secret": SECRET },
    SIGNED_IN,
    ["application-credential-secret"],
  ],
  [
    "http to elsewhere",
    { "auth-url": "http://keystone.example.com:5000/v3" },
    SIGNED_IN,
    ["--cloud-config auth-url: https is required"],
  ],
])("run with %s ends with 2 and says so", async (_, traits, environment, messages) => {
  const { code, stderr } = await run(traits, environment);
  expect(code).toBe(2);
  for (const message of messages) expect(stderr).toContain(message);
  expect(stderr).not.toContain(SECRET);
});

async function run(traits: Record<string, unknown>, environment: Record<string, string>): Promise<Ended> {
  await writeFile(join(folder, "cloud.yaml"), JSON.stringify({ ...GOOD, ...traits }));
  const flags = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
  const none = Object.fromEntries(VARIABLES.map((name) => [name, ""]));
  return runProgram(["run", "--cloud-provider", "openstack", ...flags], "", { ...none, ...environment });
}
