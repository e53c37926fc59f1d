import { expect, test } from "vitest";
import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import { apiServer, clock, createIdentityCheck } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext, ListedNode } from "#cli/doctor/check.ts";
import { runChecks } from "#cli/doctor/checks.ts";
import { cloudCredentials, cloudNetwork } from "#cli/doctor/cloud.ts";
import { deletionState, kubelets, relayLease, secondCcm } from "#cli/doctor/cluster-state.ts";
import { listServices } from "#cli/doctor/context.ts";
import {
  accountLimits,
  CONTROLLER_CHECKS,
  cloudPermissions,
  loadBalancers,
  nodeSecurityGroups,
  routeTables,
  subnets,
} from "#cli/doctor/controller-checks.ts";
import { formatFindings } from "#cli/doctor/doctor.ts";
import { deployedFunctions } from "#cli/doctor/lambda.ts";
import { createPermissionsCheck } from "#cli/doctor/permissions.ts";
import type { Diagnosis, NetworkDiagnosis } from "#clouds/diagnosis.ts";
import { Cluster } from "#config/cluster.ts";
import { type CheckResult, reportFailure, reportOk } from "#core/check-result.ts";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { formatStateAnnotation } from "#core/service/state-annotation.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";

const NOW = new Date("2026-01-02T03:04:05Z");
const secondsAgo = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

function findSettingsCheck(name: string): Check {
  const found = CONTROLLER_CHECKS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no controller has the check ${name}`);
  return found;
}

/** Answers by the end of the path, before any query; all other paths are 404. */
type Answers = Readonly<
  Record<string, { readonly status?: number; readonly body?: unknown; readonly date?: string }>
>;

interface World {
  readonly answers?: Answers;
  readonly nodes?: readonly Partial<ListedNode>[];
  readonly entry?: object;
  readonly diagnosis?: Partial<Diagnosis> | Error | undefined;
  readonly lambda?: { total: number; unreserved: number; reserved?: number } | Error;
}

function contextOf({ answers = {}, nodes = [], entry = {}, diagnosis, lambda }: World): CheckContext {
  const send = async ({ path }: ApiRequest) => {
    const [, answer] = Object.entries(answers).find(([end]) => path.split("?")[0]?.endsWith(end)) ?? [];
    if (answer === undefined)
      return { status: 404, headers: {}, body: '{"reason":"NotFound","message":"none"}' };
    const { status = 200, body = {}, date } = answer;
    return { status, headers: { date }, body: typeof body === "string" ? body : JSON.stringify(body) };
  };
  const transport = { send } as unknown as Transport;
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: "https://a.example.com",
    cloud: { provider: "memory", instancesFile: "f" },
    ...entry,
  });
  const reached: ReachableCluster = {
    cluster,
    signInOf: (role) => role,
    api: async () => transport,
    close: async () => undefined,
  };
  return {
    reached,
    signers: [RELAY],
    ask: async (_, request) => send(request),
    nodes: async () => ({ nodes: nodes.map((node) => ({ ...NODE, ...node })), isCut: false }),
    services: () => listServices(reached),
    cloud: async () => {
      if (diagnosis instanceof Error) throw diagnosis;
      return diagnosis && { ...DIAGNOSIS, ...diagnosis };
    },
    lambda: lambda && {
      functionName: (controller) => `prod-${controller}`,
      account: async () => {
        if (lambda instanceof Error) throw lambda;
        return lambda;
      },
      reserved: async () => (lambda instanceof Error ? undefined : lambda.reserved),
    },
    now: () => NOW,
  };
}

const RELAY = { name: "relay", role: "relay", identities: ["relay"] } as const;
const NODE: ListedNode = {
  name: "node-1",
  providerID: "memory:///a/i-1",
  isUninitialized: false,
  isOurs: true,
  createdAt: secondsAgo(600),
};
const DIAGNOSIS: Diagnosis = {
  credentials: async () => reportOk("an account"),
  network: async () => reportOk("3 instances"),
  clockAheadMs: async () => undefined,
  close: () => undefined,
};

const NETWORK: NetworkDiagnosis = {
  subnets: async () => reportOk("internet-facing in subnet-1"),
  securityGroups: async () => reportFailure("NoNodeSecurityGroup", "tag one"),
  routeTables: async () => reportOk("rtb-1 with 2 routes"),
  accountLimits: async ({ services, nodes }) => reportOk(`${services.length} for ${nodes.length}`),
};

/** Lists Services: those that request a load balancer, those that have one, and those of others. */
const servicesListed = (counts: { waiting?: number; holding?: number; others?: number }) => {
  const { waiting = 0, holding = 0, others = 0 } = counts;
  const some = (count: number, spec: object, isHeld = false) =>
    Array.from({ length: count }, (_, index) => {
      const uid = `u-${index}`;
      const held = {
        finalizers: [LOAD_BALANCER_FINALIZER],
        annotations: { [LOAD_BALANCER_ANNOTATION]: formatStateAnnotation({ ...MARK, uid }) },
      };
      const metadata = { namespace: "default", name: `s-${index}`, uid, resourceVersion: "1" };
      return {
        metadata: { ...metadata, creationTimestamp: secondsAgo(60), ...(isHeld ? held : {}) },
        spec,
      };
    });
  return {
    "/services": list(
      ...some(waiting, { type: "LoadBalancer" }),
      ...some(holding, { type: "LoadBalancer" }, true),
      ...some(others, { type: "LoadBalancer", loadBalancerClass: "example.com/other" }),
      { metadata: "malformed" },
    ),
  };
};
const MARK = {
  state: "applied",
  seen: "1",
  desired: "1",
  targets: "1",
  ingress: "1",
  nodes: "1",
  at: NOW.toISOString(),
} as const;
const SERVICES_ON = { controllers: ["service-lb-controller"], loadBalancers: { max: 10 } };
const ROUTES_ON = { controllers: ["node-route-controller"], routes: { clusterCIDRs: ["100.64.0.0/16"] } };

const version = (minor: string) => ({
  "/version": { body: { major: "1", minor, gitVersion: `v1.${minor}.0` } },
});
const STATE = "/configmaps/serverless-ccm";
const LEASE = "/leases/serverless-ccm-relay";
const state = (document: unknown) => ({
  [STATE]: {
    body: { metadata: { uid: "u", resourceVersion: "1" }, data: { state: JSON.stringify(document) } },
  },
});
const BRAKE = { since: "2026-01-02T03:00:00Z", limit: "Day", nodes: 9, deleted: 3, waiting: 1 };
const user = (username: string, groups: string[] = []) => ({
  "/selfsubjectreviews": { status: 201, body: { status: { userInfo: { username, groups } } } },
});
const reviews = (allowed: boolean) => ({
  "/selfsubjectaccessreviews": { status: 201, body: { status: { allowed } } },
  "/selfsubjectrulesreviews": { status: 201, body: { status: { resourceRules: [] } } },
});
const node = (manager: string, fields: object, time: string) => ({
  metadata: { name: "n", managedFields: [{ manager, time, operation: "Update", fieldsV1: fields }] },
});
const WROTE = { "f:spec": { "f:providerID": {} } };
const list = (...items: unknown[]) => ({ body: { metadata: { resourceVersion: "1" }, items } });

test.each<[string, Check, World, CheckResult["outcome"], string, string?]>([
  ["the newest version", apiServer, { answers: version("37") }, "ok", "v1.37.0 at https://a.example.com"],
  ["a version with a mark", apiServer, { answers: version("36+") }, "ok", "v1.36+.0"],
  [
    "an old version",
    apiServer,
    { answers: version("33") },
    "warning",
    "older than what is tested, 1.34 to 1.37",
    "upgrade",
  ],
  [
    "a version from the future",
    apiServer,
    { answers: version("41") },
    "warning",
    "not among what is tested",
    "newer version",
  ],
  [
    "no API server",
    apiServer,
    { answers: { "/version": { body: "<html>" } } },
    "failed",
    "not with its version",
    "see whether",
  ],
  [
    "an API server that refuses",
    apiServer,
    { answers: { "/version": { status: 401 } } },
    "failed",
    "401",
    "see whether",
  ],
  [
    "the right user",
    createIdentityCheck(RELAY),
    { answers: user("serverless-ccm-relay") },
    "ok",
    "signs in as serverless-ccm-relay",
  ],
  [
    "an administrator",
    createIdentityCheck(RELAY),
    { answers: user("admin", ["system:masters"]) },
    "warning",
    "system:masters",
    "infra/rbac",
  ],
  [
    "an anonymous user",
    createIdentityCheck(RELAY),
    { answers: user("system:anonymous") },
    "failed",
    "system:anonymous",
    "credential",
  ],
  [
    "a token that has expired",
    createIdentityCheck(RELAY),
    { answers: { "/selfsubjectreviews": { status: 401 } } },
    "failed",
    "401",
    "renew",
  ],
  ["a server that does not tell", createIdentityCheck(RELAY), {}, "skipped", "does not tell who one is"],
  ["a name that acts", createIdentityCheck(RELAY), { answers: user("a\u001b[2J") }, "ok", "a\\u{001B}[2J"],
  [
    "all rights",
    createPermissionsCheck(RELAY),
    { answers: reviews(true) },
    "ok",
    "may do the 3 things that it needs, and nothing else",
  ],
  [
    "no right",
    createPermissionsCheck(RELAY),
    { answers: reviews(false) },
    "failed",
    "may not list nodes, watch nodes, patch leases",
    "kubectl apply",
  ],
  [
    "rights that cannot be checked",
    createPermissionsCheck(RELAY),
    {},
    "failed",
    "cannot be checked",
    "repair",
  ],
  ["nodes that are well", kubelets, { nodes: [{}, {}] }, "ok", "2 nodes, all initialized"],
  ["no nodes", kubelets, {}, "warning", "no node yet", "--cloud-provider=external"],
  [
    "a node that just joined",
    kubelets,
    { nodes: [{ isUninitialized: true, createdAt: secondsAgo(5) }] },
    "ok",
    "1 joined just now",
  ],
  [
    "a node that waits",
    kubelets,
    { nodes: [{}, { name: "n-2", isUninitialized: true, providerID: undefined, isOurs: false }] },
    "failed",
    "1 waits for more than 2 minutes to be initialized: n-2",
    "serverless-ccm explain n-2",
  ],
  [
    "a kubelet that waits for no cloud",
    kubelets,
    { nodes: [{ name: "n\u001b", providerID: undefined, isOurs: false }] },
    "failed",
    "neither a provider ID nor the taint of a node that waits for its cloud: n\\u{001B}",
    "--cloud-provider=external",
  ],
  ["a cloud that needs nothing", cloudCredentials, {}, "skipped", "the cloud memory needs none"],
  [
    "a cloud that cannot be had",
    cloudCredentials,
    { diagnosis: new Error("no token") },
    "failed",
    "no token",
    "see `cloud`",
  ],
  [
    "credentials that are refused",
    cloudCredentials,
    { diagnosis: { credentials: async () => reportFailure("AuthFailure", "see") } },
    "failed",
    "AuthFailure",
    "see",
  ],
  [
    "a missing network",
    cloudNetwork,
    { diagnosis: { network: async () => reportFailure("no VPC", "see") } },
    "failed",
    "no VPC",
    "see",
  ],
  [
    "a token without a scope",
    cloudPermissions,
    {
      entry: SERVICES_ON,
      diagnosis: { permissions: async () => reportFailure("lacks tag:read", "give it") },
    },
    "failed",
    "lacks tag:read",
    "give it",
  ],
  [
    "a cloud without a permission check",
    cloudPermissions,
    { entry: SERVICES_ON, diagnosis: {} },
    "skipped",
    "memory has none that doctor checks",
  ],
  ["an existing network", cloudNetwork, { diagnosis: {} }, "ok", "3 instances"],
  [
    "load balancers with room for more",
    loadBalancers,
    { entry: SERVICES_ON, answers: servicesListed({ waiting: 1, holding: 3, others: 9 }) },
    "ok",
    "3 of the 10 that loadBalancers.max allows, 1 more requested",
  ],
  [
    "load balancers with hardly any room",
    loadBalancers,
    { entry: SERVICES_ON, answers: servicesListed({ holding: 9 }) },
    "warning",
    "9 of the 10",
    "loadBalancers.max",
  ],
  [
    "more load balancers than there may be",
    loadBalancers,
    { entry: SERVICES_ON, answers: servicesListed({ waiting: 1, holding: 10 }) },
    "failed",
    "10 of the 10 that loadBalancers.max allows, 1 more requested",
    "loadBalancers.max",
  ],
  [
    "Services that may not be listed",
    loadBalancers,
    { entry: SERVICES_ON, answers: { "/services": { status: 403 } } },
    "failed",
    "Services cannot be listed",
    "infra/rbac/service-lb-controller",
  ],
  [
    "subnets",
    subnets,
    { entry: SERVICES_ON, diagnosis: { forControllers: NETWORK } },
    "ok",
    "internet-facing in subnet-1",
  ],
  [
    "subnets of a cloud without any",
    subnets,
    { entry: SERVICES_ON, diagnosis: {} },
    "skipped",
    "memory has none",
  ],
  [
    "security groups",
    nodeSecurityGroups,
    { entry: SERVICES_ON, diagnosis: { forControllers: NETWORK } },
    "failed",
    "NoNodeSecurityGroup",
    "tag one",
  ],
  [
    "route tables",
    routeTables,
    { entry: ROUTES_ON, diagnosis: { forControllers: NETWORK } },
    "ok",
    "rtb-1 with 2 routes",
  ],
  [
    "the account's limits",
    accountLimits,
    {
      entry: SERVICES_ON,
      diagnosis: { forControllers: NETWORK },
      answers: servicesListed({ waiting: 2, holding: 1, others: 4 }),
      nodes: [{}, {}],
    },
    "ok",
    "3 for 2",
  ],
  [
    "the account's limits without Services",
    accountLimits,
    { entry: SERVICES_ON, diagnosis: { forControllers: NETWORK }, answers: { "/services": { status: 403 } } },
    "skipped",
    "Services cannot be listed",
  ],
  [
    "tags",
    findSettingsCheck("tags"),
    { entry: { controllers: ["tagging"], tagging: { tags: { team: "a", cost: "b" } } } },
    "ok",
    "team, cost on each instance",
  ],
  [
    "no tags",
    findSettingsCheck("tags"),
    { entry: { controllers: ["tagging"] } },
    "warning",
    "none are set",
    "set tagging.tags",
  ],
  [
    "no other controller",
    secondCcm,
    { answers: { "/nodes": list() } },
    "ok",
    "none was seen within 10 minutes",
  ],
  [
    "another controller manager, by its writes",
    secondCcm,
    { answers: { "/nodes": list(node("aws-cloud-controller-manager", WROTE, secondsAgo(60))) } },
    "warning",
    "aws-cloud-controller-manager runs cloud-node-controller",
    "--controllers=*,-cloud-node-controller",
  ],
  [
    "one of long ago",
    secondCcm,
    { answers: { "/nodes": list(node("aws-cloud-controller-manager", WROTE, secondsAgo(3_600))) } },
    "ok",
    "none was seen",
  ],
  [
    "one with other controllers",
    secondCcm,
    {
      answers: { "/nodes": list(node("aws-cloud-controller-manager", WROTE, secondsAgo(60))) },
      entry: { controllers: ["csr-approver"] },
    },
    "ok",
    "no controller of this cluster's entry is affected",
  ],
  [
    "nodes that may not be listed",
    secondCcm,
    { answers: { "/nodes": { status: 403 } } },
    "failed",
    "nodes cannot be listed",
    "infra/rbac",
  ],
  [
    "a state that was never written",
    deletionState,
    { answers: { [STATE]: { body: { metadata: { uid: "u", resourceVersion: "1" } } } } },
    "ok",
    "the brake is not pulled; no node is missed",
  ],
  [
    "a brake that is pulled",
    deletionState,
    { answers: state({ version: 1, brake: BRAKE }) },
    "failed",
    "pulled since 2026-01-02T03:00:00Z",
    "serverless-ccm brake --reset tenant-a",
  ],
  [
    "no state",
    deletionState,
    {},
    "failed",
    "there is no ConfigMap kube-system/serverless-ccm",
    "infra/state/config-map.yaml",
  ],
  [
    "a broken state",
    deletionState,
    { answers: state([]) },
    "failed",
    "until then no node is deleted",
    "infra/state/config-map.yaml",
  ],
  [
    "a state that may not be read",
    deletionState,
    { answers: { [STATE]: { status: 403 } } },
    "failed",
    "cannot be read",
    "infra/rbac",
  ],
  [
    "deletion that is off",
    deletionState,
    { entry: { nodes: { deletion: { enabled: false } } } },
    "skipped",
    "off by this cluster's configuration",
  ],
  [
    "a controller that is off",
    deletionState,
    { entry: { controllers: ["cloud-node-controller"] } },
    "skipped",
    "is not on for this cluster",
  ],
  [
    "a relay that vouches",
    relayLease,
    { answers: { [LEASE]: { body: { spec: { renewTime: secondsAgo(20) } } } } },
    "ok",
    "was renewed 20 s ago",
  ],
  [
    "a relay that does not any more",
    relayLease,
    { answers: { [LEASE]: { body: { spec: { renewTime: secondsAgo(121) } } } } },
    "failed",
    "was renewed 121 s ago",
    "see whether the relay runs",
  ],
  [
    "a relay that never did",
    relayLease,
    { answers: { [LEASE]: { body: {} } } },
    "warning",
    "no relay has ever renewed",
    "serverless-ccm relay",
  ],
  ["no Lease", relayLease, {}, "failed", "there is no Lease", "infra/state"],
  [
    "a Lease that may not be read",
    relayLease,
    { answers: { [LEASE]: { status: 403 } } },
    "skipped",
    "signIn.sweep",
  ],
  [
    "a Lease that cannot be read",
    relayLease,
    { answers: { [LEASE]: { status: 500 } } },
    "failed",
    "cannot be read",
    "infra/rbac",
  ],
  ["no functions", deployedFunctions, {}, "skipped", "--function-prefix"],
  [
    "room for functions",
    deployedFunctions,
    { lambda: { total: 1_000, unreserved: 900 } },
    "ok",
    "1000 at a time, 900 of them unreserved",
  ],
  [
    "a new account",
    deployedFunctions,
    { lambda: { total: 10, unreserved: 10 } },
    "warning",
    "10 at a time",
    "higher quota",
  ],
  [
    "less than the cluster may ask for",
    deployedFunctions,
    { lambda: { total: 1_000, unreserved: 900, reserved: 2 } },
    "warning",
    "may run 2, and 4 may be in flight",
    "limits.invocations",
  ],
  [
    "functions that are stopped",
    deployedFunctions,
    { lambda: { total: 1_000, unreserved: 900, reserved: 0 } },
    "failed",
    "prod-cloud-node-controller",
    "delete-function-concurrency",
  ],
  [
    "a Lambda that refuses",
    deployedFunctions,
    { lambda: new Error("AccessDenied") },
    "failed",
    "AccessDenied",
    "GetAccountSettings",
  ],
  [
    "clocks that agree",
    clock,
    { answers: { "/version": { date: NOW.toUTCString() } }, diagnosis: { clockAheadMs: async () => -2_000 } },
    "ok",
    "the API server's is this machine's; the cloud's is 2 s behind this machine's",
  ],
  [
    "a clock that is off",
    clock,
    { answers: { "/version": { date: new Date(NOW.getTime() + 30_000).toUTCString() } } },
    "warning",
    "the API server's is 30 s ahead of this machine's",
    "NTP",
  ],
  [
    "two clocks apart",
    clock,
    {
      answers: { "/version": { date: new Date(NOW.getTime() + 40_000).toUTCString() } },
      diagnosis: { clockAheadMs: async () => -40_000 },
    },
    "failed",
    "40 s behind",
    "NTP",
  ],
  ["no clock", clock, { answers: { "/version": {} } }, "skipped", "neither"],
])("%s", async (_, check, world, outcome, message, remedy) => {
  const [finding] = await runChecks([{ ...check, needs: [] }], contextOf(world));
  expect(finding).toMatchObject({ check: check.name, outcome, message: expect.stringContaining(message) });
  if (remedy === undefined) expect(finding?.remedy).toBeUndefined();
  else expect(finding?.remedy).toContain(remedy);
});

test("an unreachable API server is reported with the way it fails", async () => {
  const unreachable = new ApiUnreachable({
    code: "ConnectionRefused",
    server: "https://a",
    attempt: "GET /version",
  });
  const context = { ...contextOf({}), ask: () => Promise.reject(unreachable) };
  expect(await runChecks([apiServer], context)).toMatchObject([
    { outcome: "failed", message: expect.stringContaining("connection refused"), remedy: expect.any(String) },
  ]);
});

test("no check fails, delays or hides another; a check that needs a failed one is skipped", async () => {
  const good: Check = { name: "good", run: async () => reportOk("well") };
  const bad: Check = { name: "bad", needs: ["good"], run: () => Promise.reject(new Error("it broke\u001b")) };
  const hangs: Check = { name: "hangs", run: () => new Promise(() => undefined) };
  const after: Check = { name: "after", needs: ["good", "bad"], run: async () => reportOk("never") };
  const last: Check = { name: "last", needs: ["after"], run: async () => reportOk("never") };
  const findings = await runChecks([last, after, hangs, bad, good], contextOf({}), 50);
  expect(findings.map(({ check, outcome, message }) => [check, outcome, message])).toEqual([
    ["last", "skipped", "needs after"],
    ["after", "skipped", "needs bad"],
    ["hangs", "failed", "no answer within 0.05 s"],
    ["bad", "failed", "it broke\\u{001B}"],
    ["good", "ok", "well"],
  ]);
});

test("there is a line for each check, and a remedy below a problem", () => {
  const lines = formatFindings([
    { check: "a", ...reportOk("well") },
    { check: "long", ...reportFailure("broken", "mend it") },
  ]);
  expect(lines).toEqual(["ok       a     well", "failed   long  broken", "         → mend it"]);
});
