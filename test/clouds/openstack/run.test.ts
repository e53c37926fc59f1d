import { expect, test } from "vitest";
import { openstack } from "#clouds/openstack/provider.ts";
import { CREDENTIAL, NETWORK, SECRET, startFakeOpenStack, TAG } from "#test/clouds/openstack/fake-server.ts";
import { type RefusedRun, runOn, testRefusedRuns, testWrongSecret } from "#test/clouds/run-on.ts";

const SIGNED_IN = { OS_APPLICATION_CREDENTIAL_SECRET: SECRET, OS_PASSWORD: SECRET };
const GOOD = {
  "auth-url": "https://keystone.example.com:5000/v3",
  region: "RegionOne",
  "application-credential-id": CREDENTIAL,
  "server-tag": TAG,
};

const on = runOn(openstack, Object.keys(SIGNED_IN));

const ROWS: readonly RefusedRun[] = [
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
    "an unknown region",
    { region: "Region One" },
    SIGNED_IN,
    ["give a region such as RegionOne (or set OS_REGION_NAME)"],
  ],
  [
    "no condition that selects servers",
    { "server-tag": undefined },
    SIGNED_IN,
    ["network-id, server-tag or server-metadata is required"],
  ],
  [
    "a network's name as its ID",
    { "network-id": "blue" },
    SIGNED_IN,
    ["--cloud-config network-id: give a network's UUID"],
  ],
  [
    "no user",
    { "application-credential-id": undefined },
    SIGNED_IN,
    ["application-credential-id, username or user-id is required", "(or set OS_APPLICATION_CREDENTIAL_ID)"],
  ],
  [
    "a user without a project",
    { "application-credential-id": undefined, "user-id": "u-1" },
    SIGNED_IN,
    ["tenant-id or tenant-name is required with a user"],
  ],
  ["no secret", {}, {}, ["secret-file is required if OS_APPLICATION_CREDENTIAL_SECRET is not set"]],
  [
    "no password",
    { "application-credential-id": undefined, "user-id": "u-1", "tenant-id": "p-1" },
    {},
    ["secret-file is required if OS_PASSWORD is not set"],
  ],
  [
    "a missing secret file",
    { "secret-file": "/nowhere/secret" },
    SIGNED_IN,
    ["/nowhere/secret cannot be read"],
  ],
  ["a missing file of certificates", { "ca-file": "/nowhere/ca" }, SIGNED_IN, ["/nowhere/ca cannot be read"]],
  [
    "the secret in two places",
    { "secret-file": "/nowhere/secret", credentials: { file: "/nowhere/other" } },
    SIGNED_IN,
    ["--cloud-config credentials: names the secret in addition to"],
  ],
  [
    "a secret among the settings",
    { "application-credential-secret": SECRET },
    SIGNED_IN,
    ["application-credential-secret"],
  ],
  [
    "http to another host",
    { "auth-url": "http://keystone.example.com:5000/v3" },
    SIGNED_IN,
    ["--cloud-config auth-url: https is required"],
  ],
];
testRefusedRuns(
  on,
  SECRET,
  ROWS.map(([given, traits, ...rest]) => [given, { ...GOOD, ...traits }, ...rest] as const),
);

test.each<[string, object, string]>([
  [
    "a region",
    { region: "RegionNone" },
    "--cloud-config region: the catalogue has no compute endpoint that is public in RegionNone; it has public in RegionOne",
  ],
  [
    "a network",
    { "network-id": NETWORK.replace(/c$/, "d") },
    `--cloud-config network-id: the project sees no network 6c4cbc7f-2f2b-4a5b-8d0b-0e6a5f0a1b2d, perhaps ${NETWORK}`,
  ],
])("run with %s that does not exist ends with 2 and lists the existing ones", async (_, traits, message) => {
  const fake = await startFakeOpenStack();
  try {
    const { code, stderr } = await on.run({ ...GOOD, "auth-url": fake.authURL, ...traits }, SIGNED_IN);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(SECRET);
  } finally {
    await fake.close();
  }
});

test("run with an unknown secret says so, and continues", async () => {
  const fake = await startFakeOpenStack();
  try {
    const config = { ...GOOD, "auth-url": fake.authURL };
    const environment = { OS_APPLICATION_CREDENTIAL_SECRET: "0123456789abcdef-wrong" };
    await testWrongSecret(on, config, environment, "POST /v3/auth/tokens: 401, Unauthorized");
  } finally {
    await fake.close();
  }
});
