import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseDigitalOcean } from "#clouds/digitalocean/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { buildConfig } from "#test/clouds/digitalocean/world.ts";

let fake: FakeDigitalOcean;

beforeEach(async () => {
  fake = await startFakeDigitalOcean();
});
afterEach(() => fake.close());

const OTHER_VPC = "860e09ef-dc84-11e8-981e-3cfdfeaae000";

test.each<
  [
    string,
    "credentials" | "network" | "permissions",
    object,
    FakeAnswer | undefined,
    CheckResult["outcome"],
    string,
  ]
>([
  ["a token", "credentials", {}, undefined, "ok", "may list droplets"],
  ["a rejected token", "credentials", {}, { status: 401, body: '{"id":"unauthorized"}' }, "failed", "401"],
  ["an unreachable API", "credentials", {}, "destroy", "failed", "GET /v2/droplets"],
  ["a VPC with droplets", "network", {}, undefined, "ok", `VPC ${VPC}, tag ${TAG} in fra1: 2 droplets`],
  ["another VPC", "network", { vpc: OTHER_VPC }, undefined, "warning", `no droplet; for example, droplet`],
  [
    "a misspelled region",
    "network",
    { region: "fraa1" },
    undefined,
    "failed",
    "no region fraa1; perhaps fra1",
  ],
  ["another region", "network", { region: "ams3" }, undefined, "warning", "expected region ams3, found fra1"],
  ["another tag", "network", { dropletTag: "others" }, undefined, "warning", "no droplet"],
  ["an unparseable answer", "credentials", {}, { status: 200, body: "{}" }, "failed", "no list of droplets"],
  [
    "load balancers without the scopes of the token",
    "permissions",
    {},
    buildErrorAnswer(403, "forbidden"),
    "failed",
    "lacks load_balancer:read, tag:read",
  ],
  [
    "load balancers with an unreachable API",
    "permissions",
    {},
    "destroy",
    "failed",
    "GET /v2/load_balancers",
  ],
  ["an unparseable answer", "network", {}, { status: 200, body: "{}" }, "failed", "no list of droplets"],
])("%s", async (_, what, more, answer, outcome, message) => {
  fake.add();
  fake.add();
  fake.fault = () => answer;
  const diagnosis = await diagnoseDigitalOcean(buildConfig({ apiURL: fake.url, ...more }), {
    DO_ACCESS_TOKEN: TOKEN,
  });
  const finding = await diagnosis[what]?.(AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding?.remedy === undefined).toBe(outcome === "ok");
});

test("one request serves all checks, and its date is the cloud's", async () => {
  fake.add();
  const diagnosis = await diagnoseDigitalOcean(buildConfig({ apiURL: fake.url }), { DO_ACCESS_TOKEN: TOKEN });
  const signal = AbortSignal.timeout(120_000);
  await diagnosis.credentials(signal);
  await diagnosis.network(signal);
  expect(Math.abs((await diagnosis.clockAheadMs(signal)) ?? Number.NaN)).toBeLessThan(60_000);
  diagnosis.close();
  expect(fake.requests.map(({ path }) => path)).toEqual(["/v2/droplets", "/v2/account"]);
});

test.each<[string, Partial<FakeDigitalOcean["account"]>, readonly string[], CheckResult["outcome"], string]>([
  ["that is active is ok", {}, [], "ok", "team Example is active, and may have 2000 droplets"],
  ["that the token may not read", {}, ["account:read"], "ok", "it may not read the account (account:read)"],
  [
    "that is locked is a failure",
    { status: "locked", status_message: "unpaid" },
    [],
    "failed",
    "is locked: unpaid; nothing can be created",
  ],
  ["with a warning is a warning", { status: "warning" }, [], "warning", "is warning"],
  ["at its droplet limit is a warning", { droplet_limit: 2 }, [], "warning", "2 droplets of 2 allowed"],
])("an account %s", async (_, traits, without, outcome, message) => {
  fake.add();
  fake.add();
  Object.assign(fake.account, traits);
  for (const scope of without) fake.scopes.delete(scope);
  const diagnosis = await diagnoseDigitalOcean(buildConfig({ apiURL: fake.url }), { DO_ACCESS_TOKEN: TOKEN });
  const finding = await diagnosis.credentials(AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy === undefined).toBe(outcome === "ok");
});

const ALL = {
  clusterID: "c1",
  dropletTag: undefined,
  allow: { certificates: ["*"] },
  publicAccessFirewall: { name: "k8s-public", tags: [TAG] },
};

test.each<[string, object, readonly string[], readonly string[]]>([
  ["load balancers", { dropletTag: undefined }, ["load_balancer:read"], ["load_balancer:delete"]],
  ["droplets by tag", {}, ["load_balancer:read", "tag:read"], ["load_balancer:create"]],
  [
    "all features",
    ALL,
    ["load_balancer:read", "tag:read", "certificate:read", "firewall:read"],
    ["load_balancer:update", "tag:create", "tag:delete", "firewall:create", "firewall:update"],
  ],
])(
  "scopes for %s are checked, each missing one is reported, and nothing is changed",
  async (_, config, seen, unseen) => {
    const look = async () => {
      const diagnosis = await diagnoseDigitalOcean(buildConfig({ apiURL: fake.url, ...config }), {
        DO_ACCESS_TOKEN: TOKEN,
      });
      const finding = await diagnosis.permissions?.(AbortSignal.timeout(120_000));
      diagnosis.close();
      return finding;
    };
    const found = await look();
    expect(found).toMatchObject({ outcome: "ok" });
    const [shown = "", rest = ""] = found?.message.split(";") ?? [];
    for (const scope of seen) expect(shown).toContain(scope);
    for (const scope of unseen) expect(rest).toContain(scope);
    expect(fake.requests.map(({ method }) => method)).toEqual(seen.map(() => "GET"));
    for (const scope of seen) {
      fake.scopes.delete(scope);
      expect(await look()).toMatchObject({
        outcome: "failed",
        message: `the token lacks ${scope}`,
        remedy: expect.stringContaining(unseen[0] ?? ""),
      });
      fake.scopes.add(scope);
    }
  },
);

test("a token that may not list regions leads to no message about the region", async () => {
  fake.add();
  fake.scopes.delete("regions:read");
  const config = buildConfig({ apiURL: fake.url, region: "fraa1" });
  const diagnosis = await diagnoseDigitalOcean(config, { DO_ACCESS_TOKEN: TOKEN });
  const finding = await diagnosis.network(AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome: "warning", message: expect.stringContaining("no droplet") });
});

test("without a token no check is possible", async () => {
  await expect(diagnoseDigitalOcean(buildConfig(), {})).rejects.toThrow("tokenFile is required");
});
