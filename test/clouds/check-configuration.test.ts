import { afterEach, describe, expect, test } from "vitest";
import type { Cloud, ConfigurationCheck } from "#clouds/cloud.ts";
import { createHcloudCloud } from "#clouds/hcloud/cloud.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { createAuth } from "#clouds/openstack/auth.ts";
import { createOpenStackCloud } from "#clouds/openstack/cloud.ts";
import { createCattleCloud, createCattleSigner } from "#clouds/rancher/cattle/cloud.ts";
import { createDistributionCloud, createRancherCloud } from "#clouds/rancher/cloud.ts";
import { SELECTOR, startFakeHcloud, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import { buildConfig as anHcloudConfig } from "#test/clouds/hcloud/world.ts";
import {
  errors,
  NETWORK as NETWORK_ID,
  SECRET,
  startFakeOpenStack,
} from "#test/clouds/openstack/fake-server.ts";
import { buildConfig as anOpenStackConfig } from "#test/clouds/openstack/world.ts";
import {
  ACCESS_KEY,
  buildCattleError,
  SECRET_KEY,
  startFakeCattle,
} from "#test/clouds/rancher/fake-cattle.ts";
import {
  buildStatusAnswer,
  CLUSTER,
  NAMESPACE,
  TOKEN as RANCHER_TOKEN,
  startFakeManagement,
} from "#test/clouds/rancher/fake-management.ts";

// The findings of a cloud about its configuration when `run` begins. Only a certain error ends `run`.

/** The wrong value of a setting. */
type Config = Readonly<Record<string, unknown>>;

interface Checked {
  readonly check: ConfigurationCheck;
  readonly requests: number;
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function checked(
  cloud: Cloud,
  fake: { requests: unknown[]; close(): Promise<void> },
): Promise<Checked> {
  open.push(cloud, fake);
  const check = await cloud.checkConfiguration?.(AbortSignal.timeout(120_000));
  if (check === undefined) throw new Error("the cloud checks nothing");
  return { check, requests: fake.requests.length };
}

type Trouble = "none" | "wrong token" | "forbidden" | "away" | "rubbish";

const UNSLEPT = { sleep: async () => {} };
const RUBBISH = { status: 200, body: '{"words":["without","meaning"]}' };
const WRONG = "n0t-the-right-t0ken-but-of-its-form";

async function hetzner(config: Config, trouble: Trouble = "none"): Promise<Checked> {
  const fake = await startFakeHcloud();
  fake.networks.set("green", "4799");
  if (trouble === "forbidden") fake.fault = () => ({ status: 403, body: "" });
  if (trouble === "away") fake.fault = () => "destroy";
  if (trouble === "rubbish") fake.fault = () => RUBBISH;
  const token = createFixedToken(trouble === "wrong token" ? WRONG : TOKEN, "the token");
  const parsed = anHcloudConfig({ endpoint: `${fake.url}/v1`, ...config });
  return checked(createHcloudCloud(parsed, token, UNSLEPT), fake);
}

async function openstack(config: Config, trouble: Trouble = "none", isEmpty = true): Promise<Checked> {
  const fake = await startFakeOpenStack();
  fake.networks.set("0d5f2c1e-0000-4000-8000-000000000001", "green");
  if (!isEmpty) fake.add();
  if (trouble === "forbidden")
    fake.fault = ({ path }) =>
      path.startsWith("/network/") ? errors.neutron(403, "PolicyNotAuthorized") : undefined;
  if (trouble === "away") fake.fault = () => "destroy";
  if (trouble === "rubbish") fake.fault = ({ path }) => (path.startsWith("/network/") ? RUBBISH : undefined);
  const parsed = anOpenStackConfig({ "auth-url": fake.authURL, "network-id": NETWORK_ID, ...config });
  const secret = trouble === "wrong token" ? WRONG : SECRET;
  const auth = createAuth(parsed, { OS_APPLICATION_CREDENTIAL_SECRET: secret }, "blue");
  return checked(createOpenStackCloud(parsed, auth, UNSLEPT), fake);
}

async function machines(config: Config, trouble: Trouble = "none"): Promise<Checked> {
  const fake = await startFakeManagement();
  fake.add();
  fake.add({ cluster: "green" });
  if (trouble === "forbidden")
    fake.fault = ({ path }) => (path.endsWith("/machines") ? buildStatusAnswer(403, "Forbidden") : undefined);
  if (trouble === "away") fake.fault = () => buildStatusAnswer(503, "Unavailable");
  if (trouble === "rubbish") fake.fault = () => RUBBISH;
  const server = { url: fake.url, cluster: CLUSTER, namespace: NAMESPACE, ...config };
  const authorize = createFixedToken(trouble === "wrong token" ? WRONG : RANCHER_TOKEN, "the token");
  return checked(createRancherCloud("rke2", { server, authorize }, UNSLEPT), fake);
}

async function cattle({ project = "1a5" }: Config, trouble: Trouble = "none"): Promise<Checked> {
  const fake = await startFakeCattle();
  if (trouble === "forbidden")
    fake.fault = ({ path }) => (path === "/schemas" ? buildCattleError(403, "Forbidden") : undefined);
  if (trouble === "away") fake.fault = () => buildCattleError(503, "Unavailable");
  if (trouble === "rubbish") fake.fault = () => RUBBISH;
  const server = { url: fake.url.replace("1a5", `${project}`) };
  const secret = trouble === "wrong token" ? WRONG : SECRET_KEY;
  const keys = { CATTLE_ACCESS_KEY: ACCESS_KEY, CATTLE_SECRET_KEY: secret };
  return checked(
    createCattleCloud({ server, sign: createCattleSigner(server, keys, "blue") }, UNSLEPT),
    fake,
  );
}

describe("reports nothing about a correct configuration of", () => {
  test.each<[string, () => Promise<Checked>, number]>([
    ["Hetzner with a network ID", () => hetzner({}), 1],
    ["Hetzner with a network name", () => hetzner({ network: "blue" }), 1],
    ["Hetzner with only labels", () => hetzner({ network: undefined, labelSelector: SELECTOR }), 1],
    ["OpenStack with a network without servers", () => openstack({}), 3],
    [
      "OpenStack with a network that has servers, if networks cannot be listed",
      () => openstack({}, "none", false),
      2,
    ],
    ["OpenStack without a network", () => openstack({ "network-id": undefined }), 1],
    ["Rancher's Machines", () => machines({}), 2],
    ["Rancher 1.x", () => cattle({}), 2],
  ])("%s", async (_, look, requests) => {
    expect(await look()).toEqual({ check: { faults: [] }, requests });
  });
});

describe("reports a misspelled name together with the existing names:", () => {
  test.each<[string, () => Promise<Checked>, string, readonly string[]]>([
    [
      "a network's name at Hetzner",
      () => hetzner({ network: "bleu" }),
      "network",
      ["no network bleu, perhaps blue", "it has blue (4711), green (4799)"],
    ],
    [
      "a network's id at Hetzner",
      () => hetzner({ network: "4712" }),
      "network",
      ["no network 4712, perhaps 4711"],
    ],
    ["a region on OpenStack", () => openstack({ region: "RegionNone" }), "region", ["public in RegionOne"]],
    [
      "a network on OpenStack",
      () => openstack({ "network-id": NETWORK_ID.replace(/c$/, "d") }),
      "network-id",
      [`perhaps ${NETWORK_ID}`, `${NETWORK_ID} (blue)`, "(green)"],
    ],
  ])("%s", async (_, look, key, words) => {
    const { check } = await look();
    expect(check).toEqual({ faults: [{ key, message: expect.any(String) }] });
    for (const word of words) expect(check.faults[0]?.message).toContain(word);
  });

  test.each<[string, () => Promise<Checked>, readonly string[]]>([
    [
      "a Rancher cluster without Machines, which may get its first one",
      () => machines({ cluster: "bleu" }),
      ["no Machine of cluster bleu, perhaps blue", "those of blue, green"],
    ],
    [
      "a namespace of Rancher",
      () => machines({ namespace: "fleet-defualt" }),
      ["namespace fleet-defualt has no"],
    ],
    [
      "an environment of Rancher 1.x",
      () => cattle({ project: "1a6" }),
      ["404", "the keys are for 1a5 (Default)"],
    ],
  ])("%s, without ending the run", async (_, look, words) => {
    const { check } = await look();
    expect(check).toEqual({ faults: [], unchecked: expect.any(String) });
    for (const word of words) expect(check.unchecked).toContain(word);
  });
});

describe("does not report an uncertain check as an error:", () => {
  const LOOKS = { hetzner, openstack, machines, cattle };
  const ROWS: [keyof typeof LOOKS, Trouble, string][] = [
    ["hetzner", "wrong token", "GET /networks: 401, unauthorized"],
    ["hetzner", "forbidden", "GET /networks: 403"],
    ["hetzner", "away", "GET /networks: "],
    ["hetzner", "rubbish", "not a list of networks"],
    ["openstack", "wrong token", "POST /v3/auth/tokens: 401, Unauthorized"],
    ["openstack", "forbidden", "403, PolicyNotAuthorized"],
    ["openstack", "away", "POST /v3/auth/tokens: "],
    ["openstack", "rubbish", "not a list of ports"],
    ["machines", "wrong token", "401, Unauthorized"],
    ["machines", "forbidden", "403, Forbidden"],
    ["machines", "away", "503, Unavailable"],
    ["machines", "rubbish", "is not an API group"],
    ["cattle", "wrong token", "401, Unauthorized"],
    ["cattle", "forbidden", "403, Forbidden"],
    ["cattle", "away", "503, Unavailable"],
    ["cattle", "rubbish", "X-API-Schemas"],
  ];
  test.each(ROWS)("%s, %s", async (cloud, trouble, words) => {
    const { check } = await LOOKS[cloud]({}, trouble);
    expect(check).toEqual({ faults: [], unchecked: expect.stringContaining(words) });
    expect(JSON.stringify(check)).not.toContain(WRONG);
  });

  test("reports a wrong token with only labels configured", async () => {
    const { check } = await hetzner({ network: undefined, labelSelector: SELECTOR }, "wrong token");
    expect(check).toEqual({ faults: [], unchecked: expect.stringContaining("GET /servers: 401") });
  });

  test("more networks than the check reads do not prove that one is missing", async () => {
    const fake = await startFakeOpenStack();
    fake.maxPage = 1;
    const config = anOpenStackConfig({
      "auth-url": fake.authURL,
      "network-id": NETWORK_ID.replace(/c$/, "d"),
    });
    const auth = createAuth(config, { OS_APPLICATION_CREDENTIAL_SECRET: SECRET }, "blue");
    const { check } = await checked(createOpenStackCloud(config, auth, UNSLEPT), fake);
    expect(check).toEqual({ faults: [], unchecked: expect.stringContaining("more than 1000 networks") });
  });

  test("a failed page of Hetzner's networks does not prove that a network is missing, complete pages do", async () => {
    const look = async (isBroken: boolean) => {
      const fake = await startFakeHcloud();
      for (let index = 0; index < 60; index += 1) fake.networks.set(`n-${index}`, `${5_000 + index}`);
      if (isBroken)
        fake.fault = ({ query }) => (query.get("page") === "2" ? { status: 403, body: "" } : undefined);
      const config = anHcloudConfig({ endpoint: `${fake.url}/v1`, network: isBroken ? "absent" : "n-59" });
      return checked(createHcloudCloud(config, createFixedToken(TOKEN, "the token"), UNSLEPT), fake);
    };
    expect((await look(true)).check).toEqual({ faults: [], unchecked: expect.stringContaining("403") });
    expect(await look(false)).toEqual({ check: { faults: [] }, requests: 2 });
  });
});

test("K3s without a Rancher server needs no check", () => {
  expect(createDistributionCloud("k3s").checkConfiguration).toBeUndefined();
});
