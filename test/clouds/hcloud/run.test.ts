import { expect, test } from "vitest";
import { hcloud } from "#clouds/hcloud/provider.ts";
import { NETWORK, SELECTOR, startFakeHcloud, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import { runOn, testRefusedRuns, testWrongSecret } from "#test/clouds/run-on.ts";

const SIGNED_IN = { HCLOUD_TOKEN: TOKEN };

const on = runOn(hcloud, ["HCLOUD_TOKEN"]);

testRefusedRuns(on, TOKEN, [
  [
    "no network and no labels",
    {},
    SIGNED_IN,
    ["network or labelSelector is required", "(or set HCLOUD_NETWORK)"],
  ],
  [
    "labels that say only what servers lack",
    { labelSelector: "!cluster" },
    SIGNED_IN,
    ["--cloud-config labelSelector: ", "requires a label"],
  ],
  [
    "invalid labels",
    { labelSelector: "cluster in (" },
    SIGNED_IN,
    ["--cloud-config labelSelector: ", "a label selector such as cluster=blue"],
  ],
  ["a misspelled setting", { netwrok: NETWORK }, SIGNED_IN, ["netwrok"]],
  [
    "an invalid address family",
    { network: NETWORK, addressFamily: "ipv5" },
    SIGNED_IN,
    ["--cloud-config addressFamily: "],
  ],
  ["no token", { network: NETWORK }, {}, ["tokenFile is required if HCLOUD_TOKEN is not set"]],
  [
    "a missing token file",
    { labelSelector: SELECTOR, tokenFile: "/nowhere/token" },
    SIGNED_IN,
    ["/nowhere/token cannot be read"],
  ],
  ["a token of two lines", { network: NETWORK }, { HCLOUD_TOKEN: `${TOKEN}\n${TOKEN}` }, ["HCLOUD_TOKEN"]],
  [
    "the token in two places",
    { network: NETWORK, tokenFile: "/nowhere/token", credentials: { file: "/nowhere/other" } },
    SIGNED_IN,
    ["--cloud-config credentials: names the API token in addition to"],
  ],
  ["a token among the settings", { network: NETWORK, token: TOKEN }, SIGNED_IN, ["token"]],
  [
    "http to another host, from the environment",
    { network: NETWORK },
    { ...SIGNED_IN, HCLOUD_ENDPOINT: "http://api.example.com/v1" },
    ["--cloud-config endpoint: https is required"],
  ],
]);

test("run with a missing network ends with 2 and names a similar one", async () => {
  const fake = await startFakeHcloud();
  try {
    const environment = { ...SIGNED_IN, HCLOUD_ENDPOINT: `${fake.url}/v1`, HCLOUD_NETWORK: "bleu" };
    const { code, stderr } = await on.run({}, environment);
    expect(code).toBe(2);
    expect(stderr).toContain("--cloud-config network: the project has no network bleu, perhaps blue");
    expect(stderr).not.toContain(TOKEN);
  } finally {
    await fake.close();
  }
});

test("run with an unknown token says so, and continues", async () => {
  const fake = await startFakeHcloud();
  try {
    const environment = { HCLOUD_TOKEN: "0123456789abcdef-wrong", HCLOUD_ENDPOINT: `${fake.url}/v1` };
    await testWrongSecret(on, { network: NETWORK }, environment, "GET /networks: 401, unauthorized");
  } finally {
    await fake.close();
  }
});
