import { test } from "vitest";
import { rancher } from "#clouds/rancher/provider.ts";
import { ACCESS_KEY, SECRET_KEY, startFakeCattle } from "#test/clouds/rancher/fake-cattle.ts";
import { CLUSTER, startFakeManagement, TOKEN } from "#test/clouds/rancher/fake-management.ts";
import { type RefusedRun, runOn, testRefusedRuns, testWrongSecret } from "#test/clouds/run-on.ts";

const KEYS = { CATTLE_ACCESS_KEY: ACCESS_KEY, CATTLE_SECRET_KEY: SECRET_KEY };
const on = runOn(rancher, ["RANCHER_TOKEN", ...Object.keys(KEYS)]);

const MACHINES = { distribution: "rke2", existence: "rancher" };
const SERVER = { url: "https://rancher.example.com", cluster: CLUSTER };
const CATTLE = { url: "https://rancher.example.com/v1/projects/1a5" };

const OF_MACHINES: readonly RefusedRun[] = [
  ["no distribution", {}, {}, ["--cloud-config distribution: ", "k3s or rke2"]],
  [
    "Machines without a server",
    MACHINES,
    {},
    ["--cloud-config rancher: is required with existence: rancher"],
  ],
  [
    "an invalid cluster name",
    { ...MACHINES, rancher: { ...SERVER, cluster: "Blue Cluster" } },
    { RANCHER_TOKEN: TOKEN },
    ["--cloud-config rancher.cluster: "],
  ],
  [
    "no token",
    { ...MACHINES, rancher: SERVER },
    {},
    ["rancher.tokenFile is required if RANCHER_TOKEN is not set"],
  ],
  [
    "the token in two places",
    { ...MACHINES, rancher: { ...SERVER, tokenFile: "/nowhere/a", credentials: { file: "/nowhere/b" } } },
    {},
    ["--cloud-config rancher.credentials: names the API token in addition to"],
  ],
  [
    "a token among the settings",
    { ...MACHINES, rancher: { ...SERVER, token: TOKEN } },
    { RANCHER_TOKEN: TOKEN },
    ["token"],
  ],
  [
    "http to another host",
    { ...MACHINES, rancher: { ...SERVER, url: "http://rancher.example.com" } },
    { RANCHER_TOKEN: TOKEN },
    ["--cloud-config rancher.url: https is required"],
  ],
  [
    "a missing CA file",
    { ...MACHINES, rancher: { ...SERVER, caFile: "/nowhere/ca" } },
    { RANCHER_TOKEN: TOKEN },
    ["/nowhere/ca cannot be read (ENOENT)"],
  ],
];
testRefusedRuns(on, TOKEN, OF_MACHINES);

const OF_CATTLE: readonly RefusedRun[] = [
  ["no environment", { mode: "cattle" }, KEYS, ["--cloud-config cattle: is required with mode: cattle"]],
  ["no access key", { mode: "cattle", cattle: CATTLE }, {}, ["cattle.accessKey is required"]],
  [
    "no secret key",
    { mode: "cattle", cattle: CATTLE },
    { CATTLE_ACCESS_KEY: ACCESS_KEY },
    ["cattle.secretKeyFile is required if CATTLE_SECRET_KEY is not set"],
  ],
];
testRefusedRuns(on, SECRET_KEY, OF_CATTLE);

const WRONG = "0123456789abcdef-wrong";

test("run with an unknown token says so, and continues", async () => {
  const fake = await startFakeManagement();
  try {
    const config = { ...MACHINES, rancher: { ...SERVER, url: fake.url } };
    await testWrongSecret(on, config, { RANCHER_TOKEN: WRONG }, "401, Unauthorized");
  } finally {
    await fake.close();
  }
});

test("run with unknown keys says so, and continues", async () => {
  const fake = await startFakeCattle();
  try {
    const config = { mode: "cattle", cattle: { url: fake.url, accessKey: ACCESS_KEY } };
    await testWrongSecret(on, config, { CATTLE_SECRET_KEY: WRONG }, "401, Unauthorized");
  } finally {
    await fake.close();
  }
});
