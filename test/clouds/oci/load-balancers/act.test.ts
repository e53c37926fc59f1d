import { createPrivateKey } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { createOciApis, type OciApis } from "#clouds/oci/api.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { createLoadBalancers } from "#clouds/oci/load-balancers/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import { buildRefusal, type FakeReply } from "#test/clouds/oci/fake/reply.ts";
import {
  buildCloudConfig,
  type FakeAccount,
  startFakeAccount,
} from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildQuestion, buildService, CLUSTER } from "#test/clouds/oci/load-balancers/service.ts";

let account: FakeAccount;
let opened: OciApis[];
let slept: number[];
let capability: ReturnType<typeof createLoadBalancers>;
beforeEach(async () => {
  account = await startFakeAccount();
  opened = [];
  slept = [];
  capability = capabilityWith({ disableRateLimiter: true });
});
afterEach(async () => {
  for (const apis of opened) apis.close();
  await account.close();
});

function capabilityWith(rateLimiter: object): typeof capability {
  const config = OciCloudConfig.parse({
    ...buildCloudConfig(account, "unused", API_KEY.fingerprint),
    rateLimiter,
  });
  const key = createPrivateKey(API_KEY.pem);
  const sleep = async (delayMs: number) => void slept.push(delayMs);
  const world = { sleep, now: () => 0, wallClock: Date.now, random: () => 0.5 };
  const apis = createOciApis(config, async () => key, world);
  opened.push(apis);
  const instances = async () => ({ answers: [], usage: { calls: {}, throttled: 0, waitedMs: 0 } });
  return createLoadBalancers({
    ...{ config, cluster: CLUSTER, apis, enter: createInvocationShares(apis) },
    ...{ instances, wallClock: Date.now },
  });
}

const anAction = (action: string, target: string, parameters: Record<string, unknown> = {}): CloudAction => ({
  ...{ on: "cloud", capability: "loadBalancers", action, target, parameters },
  precondition: { uid: "u", deleting: false },
});
const UPDATE = anAction("lb:UpdateListener", "ocid1.loadbalancer.oc1.phx.b1", { name: "TCP-80", body: {} });
const act = async (action: CloudAction) => (await capability.act(action, buildCall())).answer;

describe("the answer to a change", () => {
  test.each<[FakeReply, object]>([
    [buildRefusal(400, "InvalidParameter"), { kind: "error", code: "Invalid", reason: "InvalidParameter" }],
    [buildRefusal(400, "LimitExceeded"), { kind: "error", code: "Invalid", reason: "LimitExceeded" }],
    [buildRefusal(401, "NotAuthenticated"), { kind: "error", code: "Denied" }],
    [buildRefusal(403, "NotAllowed"), { kind: "error", code: "Denied" }],
    [buildRefusal(404, "NotAuthorizedOrNotFound"), { kind: "error", code: "Denied" }],
    [buildRefusal(409, "IncorrectState"), { kind: "conflict", reason: "IncorrectState" }],
    [buildRefusal(412, "NoEtagMatch"), { kind: "conflict", reason: "NoEtagMatch" }],
    [buildRefusal(422, "Unprocessable"), { kind: "error", code: "Invalid" }],
    [buildRefusal(429, "TooManyRequests"), { kind: "error", code: "Throttled" }],
    [buildRefusal(500, "InternalServerError"), { kind: "error", code: "Unavailable" }],
    [
      { status: 200, body: "<html>" },
      { kind: "error", code: "Unavailable" },
    ],
    [
      { status: 302, body: "" },
      { kind: "error", code: "Unavailable" },
    ],
    ["destroy", { kind: "error", code: "Unavailable" }],
  ])("%j", async (reply, answer) => {
    account.oci.fault = () => reply;
    expect(await act(UPDATE)).toMatchObject(answer);
  });

  test("a creation without an answer is not sent a second time", async () => {
    account.oci.fault = () => "destroy";
    await act(anAction("lb:CreateLoadBalancer", "name", { body: {}, retryToken: "t" }));
    expect(account.oci.requests.map(({ headers }) => headers["opc-retry-token"])).toEqual(["t"]);
  });

  test("parallel calls of an invocation count its share once", async () => {
    account.oci.fault = () => ({ status: 204 });
    // Of five requests at once two are this one's share, and of ten a second four, on a clock that does not
    // move.
    const limited = capabilityWith({ rateLimitBucketWrite: 5, rateLimitQPSWrite: 10 });
    const call = buildCall({ share: 0.4 });
    const all = await Promise.all(Array.from({ length: 6 }, () => limited.act(UPDATE, call)));
    expect(new Set(slept)).toEqual(new Set([250]));
    expect(all.map(({ answer }) => answer.kind).toSorted()).toEqual([
      ...["done", "done"],
      ...["error", "error", "error", "error"],
    ]);
  });

  test("a creation continues with the next token if its first resource is gone, up to a limit", async () => {
    const tokens = () => account.oci.requests.map(({ headers }) => headers["opc-retry-token"]);
    account.oci.fault = ({ headers }) =>
      headers["opc-retry-token"] === "t-3" ? { status: 204 } : buildRefusal(409, "InvalidatedRetryToken");
    const creation = anAction("lb:CreateLoadBalancer", "name", { body: {}, retryToken: "t" });
    expect(await act(creation)).toMatchObject({ kind: "done" });
    expect(tokens()).toEqual(["t", "t-2", "t-3"]);
    account.oci.fault = () => buildRefusal(409, "InvalidatedRetryToken");
    expect(await act(creation)).toMatchObject({ kind: "conflict" });
    expect(tokens()).toHaveLength(3 + 10);
  });

  test("a change names the version that it is based on", async () => {
    account.oci.fault = () => ({ status: 204 });
    await act({ ...UPDATE, parameters: { ...UPDATE.parameters, etag: "e1" } });
    expect(account.oci.requests).toMatchObject([
      {
        method: "PUT",
        path: "/20170115/loadBalancers/ocid1.loadbalancer.oc1.phx.b1/listeners/TCP-80",
        headers: { "if-match": "e1" },
      },
    ]);
  });

  test.each(["../../x", "a/b", "a?b=c"])("an ID such as %s stays one part of the path", async (target) => {
    account.oci.fault = () => ({ status: 204 });
    await act(anAction("nlb:DeleteLoadBalancer", target));
    expect(account.oci.requests.map(({ path }) => path)).toEqual([
      `/20200501/networkLoadBalancers/${encodeURIComponent(target)}`,
    ]);
  });
});

describe("a deletion that is answered with 404", () => {
  test("needs a new observation if a read finds nothing, as a policy may hide it", async () => {
    for (const action of ["lb:DeleteLoadBalancer", "vcn:DeleteNetworkSecurityGroup"])
      expect(await act(anAction(action, "ocid1.x.oc1.phx.none"))).toMatchObject({ kind: "conflict" });
  });

  test.each(["lb:DeleteListener", "nlb:DeleteBackendSet", "lb:DeleteRuleSet"])(
    "is denied for a part of a load balancer: %s",
    async (action) => {
      const target = "ocid1.loadbalancer.oc1.phx.none";
      expect(await act(anAction(action, target, { name: "TCP-80" }))).toMatchObject({ code: "Denied" });
    },
  );

  test("proves nothing if the 404 is not Oracle's own", async () => {
    account.oci.fault = () => ({ status: 404, body: "<html>" });
    for (const action of ["lb:DeleteLoadBalancer", "vcn:DeleteNetworkSecurityGroup"])
      expect(await act(anAction(action, "ocid1.x.oc1.phx.none"))).toMatchObject({ code: "Unavailable" });
  });

  test("is denied if the resource can be read", async () => {
    const { id } = account.nlb.add();
    account.oci.fault = ({ method }) =>
      method === "DELETE" ? buildRefusal(404, "NotAuthorizedOrNotFound") : undefined;
    expect(await act(anAction("nlb:DeleteLoadBalancer", id))).toMatchObject({
      kind: "error",
      code: "Denied",
    });
  });

  test("a group that stays in use for a while is retried", async () => {
    const { id } = account.nsgs.add();
    account.lb.add({ networkSecurityGroupIds: [id] });
    expect(await act(anAction("vcn:DeleteNetworkSecurityGroup", id))).toMatchObject({
      kind: "error",
      code: "Unavailable",
    });
  });
});

test.each(["lb:Explode", "vcn:UpdateListener", "nlb:UpdateLoadBalancerShape", "toString:constructor"])(
  "rejects the unknown action %s",
  async (action) => {
    expect(await act(anAction(action, "x"))).toMatchObject({ kind: "error", code: "Invalid" });
    expect(account.oci.requests).toEqual([]);
  },
);

describe("an unreadable resource is an error, and never missing", () => {
  test.each<[RegExp, FakeReply, string]>([
    [/loadBalancers$/, buildRefusal(404, "NotAuthorizedOrNotFound"), "Denied"],
    [/loadBalancers$/, buildRefusal(429, "TooManyRequests"), "Throttled"],
    [/loadBalancers$/, { status: 200, body: '{"a":1}' }, "Unavailable"],
    [/loadBalancers$/, { status: 200, body: [{ id: "x" }] }, "Unavailable"],
    [/networkLoadBalancers$/, buildRefusal(500, "InternalServerError"), "Unavailable"],
    [/networkSecurityGroups$/, buildRefusal(404, "NotAuthorizedOrNotFound"), "Denied"],
    [/networkSecurityGroups$/, { status: 200, body: "[" }, "Unavailable"],
    [/subnets\//, buildRefusal(401, "NotAuthenticated"), "Denied"],
    [/subnets\//, "destroy", "Unavailable"],
    [/subnets\//, { status: 404, body: "<html>" }, "Unavailable"],
  ])("%s answers %j", async (path, reply, code) => {
    account.oci.fault = (request) => (path.test(request.path) ? reply : undefined);
    const asked = {
      ...buildQuestion(buildService({ "oci:security-rule-management-mode": "NSG" })),
      nodes: [],
    };
    const { answers } = await capability.observe([asked], buildCall());
    expect(answers).toMatchObject([{ kind: "error", code }]);
  });
});
