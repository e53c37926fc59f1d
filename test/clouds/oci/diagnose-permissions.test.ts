import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseOci } from "#clouds/oci/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import { API_KEY, COMPARTMENT, USER } from "#test/clouds/oci/fake/credentials.ts";
import { buildRefusal, type FakeReply, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildConfig } from "#test/clouds/oci/world.ts";

let folder: string;
let account: FakeAccount;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oci-permissions-"));
  await writeFile(join(folder, "key.pem"), API_KEY.pem);
  account = await startFakeAccount();
  account.lb.add();
});
afterEach(async () => {
  await account.close();
  await rm(folder, { recursive: true });
});

const SUBNET = "ocid1.subnet.oc1.phx.s1";
const NONE = { subnet1: SUBNET, securityListManagementMode: "None" };
const NSG = { ...NONE, securityListManagementMode: "NSG" };
async function look(loadBalancer: object = NONE, more: object = {}): Promise<CheckResult | undefined> {
  const config = buildConfig(
    { auth: { keyFile: join(folder, "key.pem") }, loadBalancer, ...more },
    account.oci.url,
  );
  const diagnosis = await diagnoseOci(config);
  try {
    return await diagnosis.permissions?.(AbortSignal.timeout(120_000));
  } finally {
    diagnosis.close();
  }
}

test("all permissions are checked without a change", async () => {
  expect(await look()).toMatchObject({
    outcome: "ok",
    message: expect.stringContaining(`user ${USER} may list`),
  });
  expect(account.oci.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /20170115/loadBalancers",
    expect.stringMatching(/^GET \/20170115\/loadBalancers\/ocid1\..*\/workRequests$/),
    "GET /20200501/networkLoadBalancers",
    "GET /20200501/workRequests",
    `GET /20160918/subnets/${SUBNET}`,
  ]);
  expect(account.oci.requests.every(({ query }) => (query["limit"] ?? "1") === "1")).toBe(true);
});

test.each<[RegExp, string]>([
  [/loadBalancers$/, `allow group GROUP to manage load-balancers in compartment id ${COMPARTMENT}`],
  [/b1\/workRequests$/, `allow group GROUP to manage load-balancers in compartment id ${COMPARTMENT}`],
  [
    /networkLoadBalancers$/,
    `allow group GROUP to manage network-load-balancers in compartment id ${COMPARTMENT}`,
  ],
  [
    /20200501\/workRequests$/,
    `allow group GROUP to manage network-load-balancers in compartment id ${COMPARTMENT}`,
  ],
  [
    /networkSecurityGroups$/,
    `allow group GROUP to manage network-security-groups in compartment id ${COMPARTMENT}`,
  ],
  [
    /subnets\//,
    `allow group GROUP to use virtual-network-family in the compartment of loadBalancer.subnet1, ${SUBNET}`,
  ],
])("an unreadable %s has its policy statement as remedy", async (path, statement) => {
  for (const reply of [NOT_FOUND, buildRefusal(403, "NotAuthorized")]) {
    account.oci.fault = (request) => (path.test(request.path) ? reply : undefined);
    const finding = await look(NSG);
    expect(finding).toMatchObject({ outcome: "failed", message: expect.stringMatching(/: 40[34], NotAuth/) });
    expect(finding?.remedy).toContain(statement);
  }
});

test("all missing permissions are reported at once, in each compartment, and the tenancy by its name", async () => {
  account.oci.fault = () => NOT_FOUND;
  const finding = await look(NSG, { compartments: ["ocid1.tenancy.oc1..t1"] });
  expect(finding?.remedy?.match(/allow group/g)).toHaveLength(7);
  expect(finding?.remedy).toContain("manage load-balancers in tenancy");
});

test.each<[string, object, CheckResult["outcome"], string, string]>([
  ["are switched off", { disabled: true }, "skipped", "loadBalancer.disabled", ""],
  ["have no mode", { subnet1: SUBNET }, "warning", "not set", "NSG or None"],
  ["have security lists", { ...NONE, securityListManagementMode: "All" }, "warning", "is All", "NSG or None"],
  [
    "are in another VCN",
    { ...NONE, subnet1: "ocid1.subnet.oc1.phx.s2" },
    "failed",
    "loadBalancer.subnet1 is in",
    "of vcn",
  ],
])("load balancers that %s", async (_, loadBalancer, outcome, message, remedy) => {
  account.oci.network.addSubnet({ id: "ocid1.subnet.oc1.phx.s2", vcnId: "ocid1.vcn.oc1.phx.v2" });
  const finding = await look(loadBalancer);
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding?.remedy ?? "").toContain(remedy);
});

test.each<FakeReply>(["destroy", buildRefusal(500, "InternalServerError"), { status: 404, body: "<html>" }])(
  "an error that does not concern permissions is not reported as one: %j",
  async (reply) => {
    account.oci.fault = ({ path }) => (path.includes("/networkLoadBalancers") ? reply : undefined);
    const finding = await look();
    expect(finding).toMatchObject({ outcome: "failed", remedy: expect.stringContaining("run doctor again") });
    expect(finding?.remedy).not.toContain("allow group");
  },
);
