import { expect, test } from "vitest";
import { hcloud } from "#clouds/hcloud/kind.ts";
import { NETWORK, SELECTOR, startFakeHcloud, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import { refusesToRun, runOn, tellsOfWrongSecret } from "#test/clouds/run-on.ts";

const SIGNED_IN = { HCLOUD_TOKEN: TOKEN };

const on = runOn(hcloud, ["HCLOUD_TOKEN"]);

refusesToRun(on, TOKEN, [
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
    ["--cloud-config labelSelector: ", "says what servers have"],
  ],
  [
    "labels that are none",
    { labelSelector: "cluster in (" },
    SIGNED_IN,
    ["--cloud-config labelSelector: ", "a label selector such as cluster=blue"],
  ],
  ["a setting misspelt", { netwrok: NETWORK }, SIGNED_IN, ["netwrok"]],
  [
    "an address family that is none",
    { network: NETWORK, addressFamily: "ipv5" },
    SIGNED_IN,
    ["--cloud-config addressFamily: "],
  ],
  ["no token", { network: NETWORK }, {}, ["tokenFile is required where HCLOUD_TOKEN is not set"]],
  [
    "a token file that is not there",
    { labelSelector: SELECTOR, tokenFile: "/nowhere/token" },
    SIGNED_IN,
    ["/nowhere/token cannot be read"],
  ],
  ["a token of two lines", { network: NETWORK }, { HCLOUD_TOKEN: `${TOKEN}\n${TOKEN}` }, ["HCLOUD_TOKEN"]],
  [
    "the token in two places",
    { network: NETWORK, tokenFile: "/nowhere/token", credentials: { file: "/nowhere/other" } },
    SIGNED_IN,
    ["--cloud-config credentials: names the API token a second time"],
  ],
  ["the token itself among the settings", { network: NETWORK, token: TOKEN }, SIGNED_IN, ["token"]],
  [
    "http to elsewhere, from the environment",
    { network: NETWORK },
    { ...SIGNED_IN, HCLOUD_ENDPOINT: "http://api.example.com/v1" },
    ["--cloud-config endpoint: https is required"],
  ],
]);

test("run with a network that is not there ends with 2 and names the one that is meant", async () => {
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

test("run with the token of nobody says so, and goes on", async () => {
  const fake = await startFakeHcloud();
  try {
    const environment = { HCLOUD_TOKEN: "0123456789abcdef-wrong", HCLOUD_ENDPOINT: `${fake.url}/v1` };
    await tellsOfWrongSecret(on, { network: NETWORK }, environment, "GET /networks: 401, unauthorized");
  } finally {
    await fake.close();
  }
});
