import { afterEach, beforeEach, expect, test } from "vitest";
import { createMeter } from "#clouds/http/meter.ts";
import { checkConfiguration } from "#clouds/oci/check-configuration.ts";
import { COMPARTMENT, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { type FakeReply, NOT_FOUND, refusal } from "#test/clouds/oci/fake/reply.ts";
import { aConfig, asked, aWorld, type OciWorld } from "#test/clouds/oci/world.ts";

let world: OciWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const check = (config: Record<string, unknown> = {}) =>
  world.cloud(config).checkConfiguration?.(AbortSignal.timeout(10_000));

test("what is there is found with two requests, and without a VCN with one", async () => {
  expect(await check()).toEqual({ faults: [] });
  expect(asked(world.fake)).toEqual({ instances: 1, "vcns/id": 1 });
  expect(await check({ vcn: undefined, loadBalancer: { disabled: true } })).toEqual({ faults: [] });
  expect(asked(world.fake)).toEqual({ instances: 2, "vcns/id": 1 });
});

test("a compartment that is not there, or not to be seen, is a fault: no node could be found", async () => {
  world.fake.fault = ({ path }) => (path.endsWith("/instances") ? NOT_FOUND : undefined);
  const [fault, ...others] = (await check())?.faults ?? [];
  expect(others).toEqual([]);
  expect(fault).toMatchObject({ key: "compartment", message: expect.stringContaining(COMPARTMENT) });
  expect(fault?.message).toContain("instance-family");
});

test("of a VCN that is not shown nobody can tell", async () => {
  expect(await check({ vcn: "ocid1.vcn.oc1.phx.other" })).toEqual({
    faults: [],
    unchecked: expect.stringMatching(/^vcn: .*ocid1\.vcn\.oc1\.phx\.other is not in us-phoenix-1/),
  });
});

test.each<[string, FakeReply]>([
  ["a wrong key", refusal(401, "NotAuthenticated")],
  ["a throttle", refusal(429, "TooManyRequests")],
  ["rubbish", { status: 200, body: "<html>" }],
  ["a 404 of something in between", { status: 404, body: "<html>" }],
  ["no answer", "destroy"],
])("nothing is said of a configuration that nobody could look at: %s", async (_, reply) => {
  world.fake.fault = () => reply;
  expect(await check()).toEqual({ faults: [], unchecked: expect.stringContaining("GET /instances") });
});

test.each<[string, string, boolean]>([
  ["us-pheonix-1", "ENOTFOUND", true],
  // Where nothing is found, not even what there is, nothing is known of the region.
  ["us-phoenix-1", "ENOTFOUND", false],
  ["phx", "ENOTFOUND", false],
  ["us-pheonix-1", "EAI_AGAIN", false],
])("a region %s and %s: a fault is %s", async (region, code, isFault) => {
  const message = `GET /instances: getaddrinfo ${code} iaas.${region}.oraclecloud.com`;
  const iaas = {
    get: async () => ({ kind: "fault", fault: { code: "Unavailable", message, transient: true } }) as const,
  };
  const turn = { signal: AbortSignal.timeout(10_000), meter: createMeter() };
  const found = await checkConfiguration(aConfig({ auth: { region } }), iaas, turn);
  if (isFault)
    expect(found.faults).toEqual([
      {
        key: "auth.region",
        message: expect.stringMatching(/perhaps us-phoenix-1; known are .*eu-frankfurt-1.*us-ashburn-1/),
      },
    ]);
  else expect(found).toEqual({ faults: [], unchecked: message });
});

test("an endpoint that is configured is no region's host", async () => {
  const message = "GET /instances: getaddrinfo ENOTFOUND iaas.example";
  const iaas = {
    get: async () => ({ kind: "fault", fault: { code: "Unavailable", message, transient: true } }) as const,
  };
  const turn = { signal: AbortSignal.timeout(10_000), meter: createMeter() };
  const config = aConfig({ auth: { region: "us-pheonix-1" }, vcn: VCN }, "https://iaas.example");
  expect(await checkConfiguration(config, iaas, turn)).toEqual({ faults: [], unchecked: message });
});
