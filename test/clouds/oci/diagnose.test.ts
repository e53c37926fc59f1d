import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseOci } from "#clouds/oci/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import { API_KEY, COMPARTMENT, USER, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { type FakeReply, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { type FakeOci, startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { buildConfig } from "#test/clouds/oci/world.ts";

let folder: string;
let fake: FakeOci;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oci-diagnose-"));
  await writeFile(join(folder, "key.pem"), API_KEY.pem);
  fake = await startFakeOci();
});
afterEach(async () => {
  await fake.close();
  await rm(folder, { recursive: true });
});

const open = (traits: Record<string, unknown> = {}) =>
  diagnoseOci(buildConfig({ auth: { keyFile: join(folder, "key.pem") }, ...traits }, fake.url));

test.each<
  [
    string,
    "credentials" | "network",
    object,
    RegExp,
    FakeReply | undefined,
    CheckResult["outcome"],
    string,
    string,
  ]
>([
  ["a key", "credentials", {}, /./, undefined, "ok", `user ${USER} may list instances of ${COMPARTMENT}`, ""],
  ["an unreachable API", "credentials", {}, /./, "destroy", "failed", "GET /instances", "endpoints"],
  [
    "a compartment without the permission to list it",
    "credentials",
    {},
    /instances/,
    NOT_FOUND,
    "failed",
    "NotAuthorizedOrNotFound",
    "instance-family",
  ],
  [
    "an unparseable answer",
    "credentials",
    {},
    /instances/,
    { status: 200, body: {} },
    "failed",
    "no list of instances",
    "run doctor",
  ],
  ["a VCN with instances", "network", {}, /./, undefined, "ok", `VCN ${VCN}: 2 instances`, ""],
  [
    "another VCN",
    "network",
    { vcn: "ocid1.vcn.oc1.phx.v2" },
    /./,
    undefined,
    "warning",
    `for example, subnet ocid1.subnet.oc1.phx.s1 is in ${VCN}`,
    "see vcn",
  ],
  [
    "no VCN",
    "network",
    { vcn: undefined, loadBalancer: { disabled: true } },
    /./,
    undefined,
    "ok",
    "2 instances in the compartments",
    "",
  ],
  [
    "VNICs without the permission to list them",
    "network",
    {},
    /vnicAttachments/,
    NOT_FOUND,
    "failed",
    "NotAuthorizedOrNotFound",
    "virtual-network-family",
  ],
  [
    "subnets without the permission to read them",
    "network",
    {},
    /subnets/,
    NOT_FOUND,
    "failed",
    "NotAuthorizedOrNotFound",
    "virtual-network-family",
  ],
])("%s", async (_, what, traits, path, reply, outcome, message, remedy) => {
  fake.compute.add();
  fake.compute.add();
  fake.fault = (request) => (reply !== undefined && path.test(request.path) ? reply : undefined);
  const diagnosis = await open({ ...traits });
  const finding = await diagnosis[what](AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy ?? "").toContain(remedy);
  expect(finding.remedy === undefined).toBe(outcome === "ok");
});

test("a rejected key and a wrong clock each have their remedy", async () => {
  fake.acceptKey(undefined);
  const refused = await open();
  expect(await refused.credentials(AbortSignal.timeout(120_000))).toMatchObject({
    outcome: "failed",
    message: expect.stringContaining("401, NotAuthenticated"),
    remedy: expect.stringContaining("auth.fingerprint"),
  });
  refused.close();
  fake.clockAheadMs = 3_600_000;
  const late = await open();
  expect(await late.credentials(AbortSignal.timeout(120_000))).toMatchObject({
    message: expect.stringContaining("clock is 60 minutes behind"),
  });
  expect(Math.round(((await late.clockAheadMs(AbortSignal.timeout(120_000))) ?? 0) / 60_000)).toBe(60);
  late.close();
});

test("each list is read once, for all checks", async () => {
  fake.compute.add();
  const diagnosis = await open();
  const signal = AbortSignal.timeout(120_000);
  await diagnosis.credentials(signal);
  await diagnosis.network(signal);
  expect(Math.abs((await diagnosis.clockAheadMs(signal)) ?? Number.NaN)).toBeLessThan(60_000);
  diagnosis.close();
  expect(fake.requests.map(({ path }) => path.split("/")[2])).toEqual([
    "instances",
    "vnicAttachments",
    "subnets",
  ]);
});

test("without a key no check is possible", async () => {
  await rm(join(folder, "key.pem"));
  await expect(open()).rejects.toThrow("cannot be read");
});
