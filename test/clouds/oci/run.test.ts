import { expect, test } from "vitest";
import { oci } from "#clouds/oci/provider.ts";
import { API_KEY, createApiKey } from "#test/clouds/oci/fake/credentials.ts";
import { NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { buildWrittenConfig } from "#test/clouds/oci/world.ts";
import { runOn } from "#test/clouds/run-on.ts";

const on = runOn(oci, []);

const inline = (pem: string, more: Record<string, unknown> = {}) => ({
  auth: { keyFile: undefined, key: pem, ...more },
});

test("run calls Oracle once, and ends with 2 if the compartment does not exist", async () => {
  const fake = await startFakeOci();
  try {
    fake.fault = () => NOT_FOUND;
    const { provider: _, ...config } = buildWrittenConfig(inline(API_KEY.pem), fake.url);
    const { code, stderr } = await on.run(config, {});
    expect(stderr).toContain(`--cloud-config compartment: GET /instances: 404, NotAuthorizedOrNotFound`);
    expect([code, fake.requests.length]).toEqual([2, 1]);
  } finally {
    await fake.close();
  }
});

test.each<[string, Record<string, unknown>, readonly string[]]>([
  ["a misspelled region", { auth: { region: "us-pheonix" } }, ["--cloud-config auth.region", "us-phoenix-1"]],
  ["a missing key file", { auth: { keyFile: "/nowhere/key" } }, ["/nowhere/key cannot be read (ENOENT)"]],
  ["the wrong key in it", inline(createApiKey().pem), ["cloud.yaml holds the key", "auth.fingerprint is"]],
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
  const { provider: __, ...config } = buildWrittenConfig(traits);
  const { code, stderr } = await on.run(config, {});
  expect(code).toBe(2);
  for (const message of messages) expect(stderr).toContain(message);
  const key = (config.auth as { readonly key?: string }).key ?? API_KEY.pem;
  const lines = key.split("\n").filter((line) => line.length > 30 && !line.startsWith("-----"));
  expect(lines.filter((line) => stderr.includes(line))).toEqual([]);
});
