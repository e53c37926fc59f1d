import { afterEach, beforeEach, expect, test } from "vitest";
import { createMeter } from "#clouds/http/meter.ts";
import { checkConfiguration } from "#clouds/oci/cloud.ts";
import { COMPARTMENT, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { buildRefusal, type FakeReply, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { buildConfig, countRequests, createNodeWorld, type OciWorld } from "#test/clouds/oci/world.ts";

let world: OciWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const check = (config: Record<string, unknown> = {}) =>
  world.cloud(config).checkConfiguration?.(AbortSignal.timeout(120_000));

test("a valid configuration is confirmed with two requests, and without a VCN with one", async () => {
  expect(await check()).toEqual({ faults: [] });
  expect(countRequests(world.fake)).toEqual({ instances: 1, "vcns/id": 1 });
  expect(await check({ vcn: undefined, loadBalancer: { disabled: true } })).toEqual({ faults: [] });
  expect(countRequests(world.fake)).toEqual({ instances: 2, "vcns/id": 1 });
});

test("a compartment that is missing or hidden is an error: no node could be found", async () => {
  world.fake.fault = ({ path }) => (path.endsWith("/instances") ? NOT_FOUND : undefined);
  const [fault, ...others] = (await check())?.faults ?? [];
  expect(others).toEqual([]);
  expect(fault).toMatchObject({ key: "compartment", message: expect.stringContaining(COMPARTMENT) });
  expect(fault?.message).toContain("instance-family");
});

test("a VCN that is not visible is not an error", async () => {
  expect(await check({ vcn: "ocid1.vcn.oc1.phx.other" })).toEqual({
    faults: [],
    unchecked: expect.stringMatching(/^vcn: .*ocid1\.vcn\.oc1\.phx\.other is not in us-phoenix-1/),
  });
});

test.each<[string, FakeReply]>([
  ["a wrong key", buildRefusal(401, "NotAuthenticated")],
  ["a throttle", buildRefusal(429, "TooManyRequests")],
  ["an unparseable answer", { status: 200, body: "<html>" }],
  ["a proxy's 404", { status: 404, body: "<html>" }],
  ["a broken connection", "destroy"],
])("without a possible check nothing is reported: %s", async (_, reply) => {
  world.fake.fault = () => reply;
  expect(await check()).toEqual({ faults: [], unchecked: expect.stringContaining("GET /instances") });
});

test.each<[string, string, boolean]>([
  ["us-pheonix-1", "ENOTFOUND", true],
  // If not even an existing host resolves, nothing is known about the region.
  ["us-phoenix-1", "ENOTFOUND", false],
  ["phx", "ENOTFOUND", false],
  ["us-pheonix-1", "EAI_AGAIN", false],
])("a region %s and %s: an error is %s", async (region, code, isFault) => {
  const message = `GET /instances: getaddrinfo ${code} iaas.${region}.oraclecloud.com`;
  const iaas = {
    get: async () => ({ kind: "fault", fault: { code: "Unavailable", message, transient: true } }) as const,
  };
  const turn = { signal: AbortSignal.timeout(120_000), meter: createMeter() };
  const found = await checkConfiguration(buildConfig({ auth: { region } }), iaas, turn);
  if (isFault)
    expect(found.faults).toEqual([
      {
        key: "auth.region",
        message: expect.stringMatching(/perhaps us-phoenix-1; known are .*eu-frankfurt-1.*us-ashburn-1/),
      },
    ]);
  else expect(found).toEqual({ faults: [], unchecked: message });
});

test("a configured endpoint is not a region's host", async () => {
  const message = "GET /instances: getaddrinfo ENOTFOUND iaas.example";
  const iaas = {
    get: async () => ({ kind: "fault", fault: { code: "Unavailable", message, transient: true } }) as const,
  };
  const turn = { signal: AbortSignal.timeout(120_000), meter: createMeter() };
  const config = buildConfig({ auth: { region: "us-pheonix-1" }, vcn: VCN }, "https://iaas.example");
  expect(await checkConfiguration(config, iaas, turn)).toEqual({ faults: [], unchecked: message });
});
