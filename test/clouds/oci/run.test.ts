import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "#test/cli/program.ts";
import { API_KEY, anApiKey } from "#test/clouds/oci/fake/credentials.ts";
import { NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { aWriting } from "#test/clouds/oci/world.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-oci-"));
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

test("run asks Oracle once, and ends with 2 where there is no such compartment", async () => {
  const fake = await startFakeOci();
  try {
    fake.fault = () => NOT_FOUND;
    await writeFile(join(folder, "key.pem"), API_KEY.pem);
    const { provider: _, ...config } = aWriting({ auth: { keyFile: join(folder, "key.pem") } }, fake.url);
    await writeFile(join(folder, "cloud.yaml"), JSON.stringify(config));
    const flags = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
    const { code, stderr } = await runProgram(["run", "--cloud-provider", "oci", ...flags], "", {});
    expect(stderr).toContain(`--cloud-config compartment: GET /instances: 404, NotAuthorizedOrNotFound`);
    expect([code, fake.requests.length]).toEqual([2, 1]);
  } finally {
    await fake.close();
  }
});

const inline = (pem: string, more: Record<string, unknown> = {}) => ({
  auth: { keyFile: undefined, key: pem, ...more },
});

test.each<[string, Record<string, unknown>, readonly string[]]>([
  ["a region misspelt", { auth: { region: "us-pheonix" } }, ["--cloud-config auth.region", "us-phoenix-1"]],
  [
    "a key file that is not there",
    { auth: { keyFile: "/nowhere/key" } },
    ["/nowhere/key cannot be read (ENOENT)"],
  ],
  ["the wrong key in it", inline(anApiKey().pem), ["cloud.yaml holds the key", "auth.fingerprint is"]],
  [
    "a key in it that is cut off",
    inline(API_KEY.pem.slice(0, 400)),
    ["cloud.yaml holds no private key as PEM"],
  ],
  [
    "an instance principal",
    { useInstancePrincipals: true },
    ["an instance principal needs a machine on Oracle Cloud"],
  ],
  ["no VCN", { vcn: undefined }, ["vcn is required"]],
])("run with %s ends with 2 and says so, without a word of a key", async (_, traits, messages) => {
  const { provider: __, ...config } = aWriting(traits);
  await writeFile(join(folder, "cloud.yaml"), JSON.stringify(config));
  const flags = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
  const { code, stderr } = await runProgram(["run", "--cloud-provider", "oci", ...flags], "", {});
  expect(code).toBe(2);
  for (const message of messages) expect(stderr).toContain(message);
  const key = (config.auth as { readonly key?: string }).key ?? API_KEY.pem;
  const lines = key.split("\n").filter((line) => line.length > 30 && !line.startsWith("-----"));
  expect(lines.filter((line) => stderr.includes(line))).toEqual([]);
});
