import { describe, expect, test } from "vitest";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { Decision } from "#core/decision.ts";
import { applyOperations } from "#core/json-patch.ts";
import {
  LISTENERS_KEY,
  LOAD_BALANCERS_KEY,
  type ReachedLimit,
  type Reservations,
} from "#core/service/load-balancer-quota.ts";
import type { Issue, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation } from "#core/service/state-annotation.ts";
import {
  buildContext,
  buildListing,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  decideOn,
  FINALIZERS,
  getAnnotation,
  getPastTime,
  HOSTNAME,
  NOW,
  type Script,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const WISH = JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]);
const SHELF = { wish: WISH, targets: ["i-a"] };
const SERVED = await buildServedService();
const DELETED: Service = {
  ...SERVED,
  metadata: { ...SERVED.metadata, deletionTimestamp: getPastTime(5) },
};
const PROBLEM: Issue = {
  code: "InvalidAnnotation",
  field: "example.kubernetes.io/a",
  value: "b",
  allowed: "c",
};
const observed = (state: unknown) => ({ kind: "observed", state }) as const;
const reasons = (events: readonly { readonly reason: string }[]): readonly string[] =>
  events.map(({ reason }) => reason);

async function decide(object: Service, answer?: unknown, asked = buildContext(), script: Script = {}) {
  return decideOn(await createController(script), { object, answer }, asked);
}

describe("a Service that needs a load balancer", () => {
  test("is claimed before anything is created, and served afterwards", async () => {
    const { object, shelf, decisions } = await converge(buildService(), null);
    expect(shelf).toEqual(SHELF);
    expect(object.metadata.finalizers).toEqual(FINALIZERS);
    expect(object.status).toEqual({ loadBalancer: { ingress: [{ hostname: HOSTNAME }] } });
    expect(needsWork(object, SETTINGS)).toBe(false);
    const written = decisions.map((decision) =>
      decision.kind === "change"
        ? decision.writes.map((write) => (write.on === "cloud" ? write.action : write.resource))
        : decision.kind,
    );
    expect(written).toEqual([["services", "PutUp"], ["Fill"], ["services"], "unchanged"]);
    expect(decisions.map((decision) => ("events" in decision ? reasons(decision.events) : []))).toEqual([
      ["EnsuringLoadBalancer"],
      ["EnsuringLoadBalancer"],
      ["EnsuredLoadBalancer"],
      [],
    ]);
  });

  test("gets a patch that applies only if its content is as read", async () => {
    const decision = await decide(buildService({ metadata: { generation: 3 } }), observed(null));
    expect(decision).toMatchObject({
      kind: "change",
      because: { code: "PutUp" },
      writes: [
        {
          on: "cluster",
          subresource: "status",
          namespace: "default",
          precondition: [
            { path: "/metadata/uid", value: "uid-web" },
            { path: "/spec/type", value: "LoadBalancer" },
            { path: "/metadata/deletionTimestamp", value: null },
            { path: "/metadata/finalizers", value: null },
            { path: "/metadata/annotations", value: null },
          ],
          patch: [{ path: "/metadata/finalizers", value: FINALIZERS }, { path: "/metadata/annotations" }],
        },
        {
          on: "cloud",
          capability: "loadBalancers",
          action: "PutUp",
          target: "uid-web",
          precondition: { uid: "uid-web", generation: 3, deleting: false },
        },
      ],
    });
  });

  test("keeps the finalizers and annotations of others", async () => {
    const metadata = { finalizers: ["example.com/a"], annotations: { "example.com/b": "c" } };
    const { object } = await converge(buildService({ metadata }), null);
    expect(object.metadata.finalizers).toEqual(["example.com/a", LOAD_BALANCER_FINALIZER]);
    expect(object.metadata.annotations).toMatchObject({ "example.com/b": "c" });
  });

  test("of the stock controller is taken over with one write, and one more after the recheck", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } };
    const stock = buildService({ metadata: { finalizers: FINALIZERS }, status });
    const taken = await converge(stock, SHELF);
    expect(taken.decisions).toMatchObject([{ kind: "change" }, { kind: "retry", afterSeconds: 45 }]);
    const now = new Date(NOW.getTime() + 45_000);
    const { object, decisions } = await converge(taken.object, SHELF, buildContext({ now }));
    expect(decisions.map(({ kind }) => kind)).toEqual(["change", "unchanged"]);
    expect(needsWork(object, SETTINGS)).toBe(false);
  });

  test("is audited, and unchanged if nothing has changed", async () => {
    const { decisions } = await converge(SERVED, SHELF, buildContext({ reason: "refresh" }));
    expect(decisions).toMatchObject([{ kind: "unchanged" }]);
  });

  test("gets only its annotation written if only that has changed", async () => {
    const annotations = { ...SERVED.metadata.annotations, "example.com/any": "thing" };
    const object = { ...SERVED, metadata: { ...SERVED.metadata, annotations } };
    const decision = await decide(object);
    expect(decision).toMatchObject({
      kind: "change",
      events: [],
      writes: [{ patch: [{ path: `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replace("/", "~1")}` }] }],
    });
  });

  test("records work in progress, so that an interrupted change is detected", async () => {
    const lists = buildRelated(
      [
        { name: "a", providerID: "i-a" },
        { name: "b", providerID: "i-b" },
      ],
      [],
      "501",
    );
    const decision = await decide(SERVED, observed(SHELF), buildContext({ related: lists }));
    const [first] = decision.kind === "change" ? decision.writes : [];
    expect(JSON.stringify(first)).toContain('\\"targets\\":\\"\\"');
    const { object, decisions } = await converge(SERVED, SHELF, buildContext({ related: lists }));
    expect(decisions.flatMap((each) => (each.kind === "change" ? reasons(each.events) : []))).toEqual([
      "EnsuringLoadBalancer",
      "UpdatedLoadBalancer",
    ]);
    expect(needsWork(object, SETTINGS)).toBe(false);
  });

  test("needs work, and only its targets checked, after an interrupted change of targets", async () => {
    const more = buildRelated([{ name: "b", providerID: "i-b" }], [], "501");
    const decision = await decide(SERVED, observed(SHELF), buildContext({ related: more }));
    const [claimed] = decision.kind === "change" ? decision.writes : [];
    if (claimed?.on !== "cluster" || !("patch" in claimed)) throw new Error("nothing was claimed");
    const broken = applyOperations(SERVED, claimed.patch);
    expect(needsWork(broken, SETTINGS)).toBe(true);
    // The nodes equal those applied last.
    const back = buildContext({ related: buildRelated(undefined, [], "502") });
    const controller = await createController();
    expect(controller.buildQuestion(broken, back)).toMatchObject({ ask: { onlyTargets: true } });
    const { object, shelf } = await converge(broken, { ...SHELF, targets: ["i-b"] }, back);
    expect(needsWork(object, SETTINGS)).toBe(false);
    expect(shelf).toEqual(SHELF);
  });

  test("records all of it as in progress if more than its targets changes", async () => {
    const lists = buildRelated([{ name: "b", providerID: "i-b" }], [], "501");
    const asked = buildContext({ related: lists, reason: "refresh" });
    const decision = await decide(SERVED, observed(SHELF), asked);
    const [first] = decision.kind === "change" ? decision.writes : [];
    expect(JSON.stringify(first)).toContain('\\"state\\":\\"applying\\"');
  });

  test("keeps its load balancer without nodes, with a Warning", async () => {
    const first = await converge(SERVED, SHELF, buildListing([]));
    const { object, shelf, decisions } = await converge(first.object, first.shelf, buildListing([], 30));
    expect(shelf).toEqual({ wish: WISH, targets: [] });
    expect(object.status).toEqual(SERVED.status);
    expect(decisions.flatMap((each) => ("events" in each ? reasons(each.events) : []))).toContain(
      "UnAvailableLoadBalancer",
    );
  });

  test.each<[string, LoadBalancerStep, string]>([
    ["is retried while the cloud works on its load balancer", wait(7), "taken on"],
    ["keeps its status while its load balancer has no address", settled([]), "retry 5"],
    ["is retried after a refusal", { kind: "refused", issue: PROBLEM }, "retry 30"],
    ["is skipped if another controller serves it", { kind: "foreign" }, "skip"],
  ])("%s", async (_, next, outcome) => {
    const decision = await decide(buildService(), observed(null), buildContext(), { next });
    const said = decision.kind === "change" ? "taken on" : decision.kind;
    expect([said, ...("afterSeconds" in decision ? [decision.afterSeconds] : [])].join(" ")).toBe(outcome);
  });

  test("is checked again after the delay that the cloud gives", async () => {
    const { decisions } = await converge(buildService(), null, buildContext(), { next: wait(7) });
    expect(decisions.at(-1)).toMatchObject({
      kind: "retry",
      afterSeconds: 7,
      because: { code: "LoadBalancerInProgress", message: "Provisioning: in a moment" },
    });
  });

  test("gets the `ipMode` of an address that the API server would default", async () => {
    const next = settled([{ ip: "192.0.2.1" }, { ip: "192.0.2.2", ipMode: "Proxy" }]);
    const { object, decisions } = await converge(buildService(), null, buildContext(), { next });
    expect(object.status?.loadBalancer?.ingress).toEqual([
      { ip: "192.0.2.1", ipMode: "VIP" },
      { ip: "192.0.2.2", ipMode: "Proxy" },
    ]);
    expect(decisions[0]).toMatchObject({
      because: { message: "the load balancer is at 192.0.2.1, 192.0.2.2" },
    });
  });

  test("gets Warnings about issues that do not prevent its load balancer", async () => {
    const next = { ...settled([{ hostname: HOSTNAME }]), warnings: [PROBLEM] } as LoadBalancerStep;
    expect(await decide(buildService(), observed(null), buildContext(), { next })).toMatchObject({
      kind: "change",
      events: [
        { reason: "EnsuredLoadBalancer" },
        { reason: "SyncLoadBalancerFailed", code: "InvalidAnnotation" },
      ],
      warnings: [{ code: "InvalidAnnotation", message: 'example.kubernetes.io/a is "b"; allowed: c' }],
    });
  });
});

describe("the question about a Service", () => {
  const mark = JSON.parse(getAnnotation(SERVED) ?? "") as Record<string, unknown>;
  const withNodes = (nodes: string, at: string): Service =>
    setAnnotation(SERVED, JSON.stringify({ ...mark, nodes, at }));
  const refresh = buildContext({ reason: "refresh" });
  const others = buildContext({ related: buildRelated([{ name: "z", providerID: "i-z" }]) });
  const withMark = (difference: object): Service =>
    setAnnotation(SERVED, JSON.stringify({ ...mark, ...difference }));
  const withPort = (object: Service, port: number): Service => ({
    ...object,
    spec: { ...object.spec, ports: [{ protocol: "TCP", port, nodePort: 30_000 }] },
  });

  test.each<[string, Service, ReturnType<typeof buildContext>, string]>([
    ["is not asked without a list of nodes", buildService(), buildContext({ related: {} }), "NodesUnknown"],
    [
      "is not asked if the list of nodes is older than the applied one",
      withNodes("501", getPastTime(59)),
      refresh,
      "NodesStale",
    ],
    [
      "is not asked with an older list of nodes if the recorded time is 30 s ahead",
      withNodes("501", getPastTime(-30)),
      refresh,
      "NodesStale",
    ],
    [
      "is not asked without a list of Services",
      buildService(),
      buildContext({ related: { nodes: buildRelated()["nodes"] } }),
      "ServicesUnknown",
    ],
    [
      "is not asked at the limit of load balancers",
      buildService(),
      buildContext({ settings: { ...SETTINGS, loadBalancers: { max: 0, deleteOrphaned: false } } }),
      "LoadBalancerLimit",
    ],
    ["has no answer: the Service is retried", buildService(), buildContext(), "Unavailable"],
  ])("%s", async (_, object, asked, code) => {
    const controller = await createController();
    if (code !== "Unavailable") expect(controller.buildQuestion(object, asked)).toBeUndefined();
    expect(decideOn(controller, { object }, asked)).toMatchObject({ kind: "retry", because: { code } });
  });

  test.each<[string, Service]>([
    ["as new as the applied list", withNodes("500", getPastTime(1))],
    ["older than the applied list, which was applied over a minute ago", withNodes("501", getPastTime(61))],
    ["older than the applied list, whose time is in the future", withNodes("501", getPastTime(-61))],
    ["compared with an invalid version", withNodes("x", getPastTime(1))],
  ])("is asked if the list of nodes is %s", async (_, object) => {
    expect((await createController()).buildQuestion(object, refresh)).toMatchObject({
      capability: "loadBalancers",
    });
  });

  test.each<[string, Service, ReturnType<typeof buildContext>, true | undefined]>([
    ["if only the nodes have changed", SERVED, others, true],
    ["if the nodes and the ports have changed", withPort(SERVED, 8_080), others, undefined],
    [
      "if the nodes have changed and a change is in progress",
      withMark({ state: "applying" }),
      others,
      undefined,
    ],
    [
      "if the nodes have changed and another client has written the status",
      withMark({ ingress: "x" }),
      others,
      undefined,
    ],
    [
      "if the nodes have changed, in an audit",
      SERVED,
      buildContext({ ...others, reason: "refresh" }),
      undefined,
    ],
    ["if the Service is new", buildService(), others, undefined],
  ])("%s, is limited to targets: %s", async (_, object, asked, onlyTargets) => {
    const question = (await createController()).buildQuestion(object, asked) as {
      readonly ask: LoadBalancerQuestion;
    };
    expect(question.ask.wanted).toBe(true);
    expect(question.ask.onlyTargets).toBe(onlyTargets);
  });

  test("is asked by a sweep in one of ten minutes, because no relay audits", async () => {
    const controller = await createController();
    const asked = Array.from({ length: 20 }, (_, minute) =>
      controller.buildQuestion(
        SERVED,
        buildContext({ reason: "sweep", now: new Date(NOW.getTime() + minute * 60_000) }),
      ),
    );
    expect(asked.filter((question) => question !== undefined)).toHaveLength(2);
  });

  test("is not asked if the Service's content alone leads to a refusal", async () => {
    const refused = { before: { kind: "refused", issue: PROBLEM } } as const;
    expect((await createController(refused)).buildQuestion(buildService(), buildContext())).toBeUndefined();
    expect(await decide(SERVED, undefined, buildContext(), refused)).toMatchObject({
      kind: "retry",
      because: { code: "InvalidAnnotation" },
      events: [{ reason: "SyncLoadBalancerFailed", code: "InvalidAnnotation" }],
    });
    expect(
      await decide(buildService(), undefined, buildContext(), { before: { kind: "foreign" } }),
    ).toMatchObject({
      kind: "skip",
      because: { code: "Elsewhere" },
    });
  });

  test("is not asked while the desired state is applied", async () => {
    const controller = await createController();
    expect(controller.buildQuestion(SERVED, buildContext())).toBeUndefined();
    expect(decideOn(controller, { object: SERVED })).toMatchObject({ kind: "unchanged" });
  });

  test("is not asked on a cloud without load balancers, and the Service is skipped", async () => {
    const settings = { ...SETTINGS, cloud: { provider: "toString" } };
    const controller = await createController();
    await controller.load?.("toString");
    expect(controller.buildQuestion(buildService(), buildContext({ settings }))).toBeUndefined();
    expect(decideOn(controller, { object: buildService() }, buildContext({ settings }))).toMatchObject({
      kind: "skip",
      because: { code: "NotSupported" },
    });
  });
});

describe("a Service whose load balancer counts against a quota", () => {
  const NETWORK = "network load balancer";
  const NEW: Script = { shows: false, size: { kind: NETWORK, missingListeners: 1 } };
  const grant = (...uids: readonly string[]): Reservations => ({
    kind: "counted",
    granted: new Set(uids),
    rejected: new Map(),
  });
  const reach = (limit: ReachedLimit): Reservations => ({
    kind: "counted",
    granted: new Set(),
    rejected: new Map([["uid-web", limit]]),
  });
  const CREATED = { kind: "change", because: { code: "PutUp" } };
  const LIMITED = { kind: "retry", afterSeconds: 60, events: [{ code: "LoadBalancerLimit" }] };

  test.each<[string, Reservations | undefined, object]>([
    ["is created with a reservation", grant("uid-web"), CREATED],
    ["is created on a cloud that cannot list load balancers", { kind: "uncounted" }, CREATED],
    [
      "is decided as created without reservations, because such a decision is not carried out",
      undefined,
      CREATED,
    ],
    [
      "is retried soon without a reservation",
      grant("uid-other"),
      { kind: "retry", afterSeconds: 3, because: { code: "LoadBalancerInProgress" }, events: [] },
    ],
    [
      "is retried with the cloud's error if the load balancers cannot be listed",
      { kind: "unknown", code: "Denied", message: "403" },
      { kind: "retry", afterSeconds: 30, because: { code: "Denied", message: "403" } },
    ],
    [
      "is not created at the cluster's limit of load balancers",
      reach({ name: LOAD_BALANCERS_KEY, limit: 5 }),
      {
        ...LIMITED,
        because: {
          code: "LoadBalancerLimit",
          message: "the cluster has its 5 load balancers (loadBalancers.max); older Services come first",
        },
      },
    ],
    [
      "is not created at the cluster's share of a quota",
      reach({ name: NETWORK, limit: 12 }),
      {
        ...LIMITED,
        because: {
          code: "LoadBalancerLimit",
          message: expect.stringContaining("12 of network load balancer, its share of the account's quota"),
        },
      },
    ],
    [
      "is refused at the cluster's limit of ports",
      reach({ name: LISTENERS_KEY, limit: 50 }),
      {
        kind: "retry",
        afterSeconds: 30,
        because: { code: "TooManyClusterPorts", message: expect.stringContaining("50 ports together") },
        events: [{ reason: "SyncLoadBalancerFailed", code: "TooManyClusterPorts" }],
      },
    ],
  ])("%s", async (_, reservations, expected) => {
    const asked = buildContext({ reservations });
    expect(await decide(buildService(), observed(null), asked, NEW)).toMatchObject(expected);
  });

  test("follows the nodes while the cluster's limit of ports refuses more of them", async () => {
    const asked = buildContext({
      related: buildRelated([{ name: "b", providerID: "i-b" }], [], "501"),
      reservations: reach({ name: LISTENERS_KEY, limit: 50 }),
    });
    const ports = [{ protocol: "TCP" as const, port: 81, nodePort: 30_081 }];
    const object = { ...SERVED, spec: { ...SERVED.spec, ports } };
    const { shelf, decisions } = await converge(object, SHELF, asked, { ...NEW, shows: true, follows: true });
    expect(shelf).toEqual({ wish: WISH, targets: ["i-b"] });
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "TooManyClusterPorts" } });
  });

  test.each<[string, Script]>([
    [
      "its load balancer is visible with all its listeners",
      { shows: true, size: { kind: NETWORK, missingListeners: 0 } },
    ],
    ["the cloud reports no sizes", {}],
  ])("is changed without a reservation if %s", async (_, script) => {
    const asked = buildContext({ reservations: grant() });
    expect(await decide(buildService(), observed(null), asked, script)).toMatchObject(CREATED);
  });
});

describe("a Service that no longer needs a load balancer", () => {
  test.each<[string, Service]>([
    ["because it is being deleted", DELETED],
    [
      "because its type has changed",
      { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" }, status: undefined },
    ],
    ["because its class has changed", { ...SERVED, spec: { ...SERVED.spec, loadBalancerClass: "a/b" } }],
  ])("is released when nothing is left, %s", async (_, object) => {
    const { shelf, object: after, decisions } = await converge(object, SHELF);
    expect(shelf).toBeNull();
    // The other class's controller uses this finalizer too.
    expect(after.metadata.finalizers).toEqual(object.spec.loadBalancerClass === "a/b" ? FINALIZERS : []);
    expect(after.metadata.annotations).toEqual({});
    expect(after.status?.loadBalancer?.ingress).toBeUndefined();
    expect(decisions.map(({ kind }) => kind)).toEqual(["change", "change", "unchanged"]);
    expect(decisions.flatMap((each) => ("events" in each ? reasons(each.events) : []))).toEqual([
      "DeletingLoadBalancer",
      "DeletedLoadBalancer",
    ]);
  });

  const leaving = (state: string, secondsBefore: number): Service => {
    const written = DELETED.metadata.annotations?.[LOAD_BALANCER_ANNOTATION] ?? "";
    const text = JSON.stringify({ ...JSON.parse(written), state, at: getPastTime(secondsBefore) });
    const annotations = { ...DELETED.metadata.annotations, [LOAD_BALANCER_ANNOTATION]: text };
    return { ...DELETED, metadata: { ...DELETED.metadata, annotations } };
  };

  test.each<[string, Service, Script["shows"], string]>([
    ["is released if its load balancer had been visible", leaving("applied", 1), true, "released"],
    [
      "is retried if its load balancer, applied 59 s ago, was never visible",
      leaving("applied", 59),
      false,
      "retry in 10 s",
    ],
    [
      "is released if its load balancer, applied a minute ago, was never visible",
      leaving("applied", 60),
      false,
      "released",
    ],
    [
      "is released if the time of its load balancer is over a minute ahead",
      leaving("applied", -61),
      false,
      "released",
    ],
    [
      "is retried if the time of its load balancer is 5 s ahead",
      leaving("applied", -5),
      false,
      "retry in 10 s",
    ],
    ["starts its wait if a change was in progress", leaving("applying", 3_600), false, "leaving"],
    [
      "starts its wait if a change was in progress, even if its load balancer had been visible",
      leaving("applying", 3_600),
      true,
      "leaving",
    ],
    ["is retried during its wait", leaving("leaving", 29), false, "retry in 10 s"],
    ["is released after a wait of 30 s", leaving("leaving", 30), false, "released"],
    [
      "is released if the visibility of its load balancer is unknown",
      leaving("applied", 1),
      undefined,
      "released",
    ],
    [
      "starts its wait if a change was in progress and the visibility is unknown",
      leaving("applying", 3_600),
      undefined,
      "leaving",
    ],
    [
      "is released at once on a cloud that is strongly consistent",
      leaving("applied", 1),
      "at once",
      "released",
    ],
    [
      "starts its wait if another actor's change was in progress, on a strongly consistent cloud",
      leaving("applying", 1),
      "at once",
      "leaving",
    ],
    [
      "is retried during its wait, on a strongly consistent cloud",
      leaving("leaving", 1),
      "at once",
      "retry in 10 s",
    ],
  ])("%s", async (_, object, shows, expected) => {
    const controller = await createController({ shows });
    const decision = decideOn(controller, { object, answer: observed(null) });
    expect(saidBy(decision)).toBe(expected);
  });

  /** Whether it is released, annotated, or retried. */
  function saidBy(decision: Decision): string {
    if (decision.kind === "retry") return `retry in ${decision.afterSeconds} s`;
    if (decision.kind !== "change") return decision.kind;
    const patches = decision.writes.flatMap((write) => ("patch" in write ? write.patch : []));
    if (patches.some(({ path }) => path.startsWith("/metadata/finalizers/"))) return "released";
    const value = patches.flatMap((each) => ("value" in each ? [String(each.value)] : []))[0] ?? "null";
    expect(JSON.parse(value)).toMatchObject({ at: NOW.toISOString(), desired: expect.any(String) });
    return JSON.parse(value).state;
  }

  test("is released in one patch, which removes only our finalizer", async () => {
    const finalizers = ["example.com/a", LOAD_BALANCER_FINALIZER, "example.com/b"];
    const object = { ...DELETED, metadata: { ...DELETED.metadata, finalizers } };
    expect(await decide(object, observed(null))).toMatchObject({
      kind: "change",
      writes: [
        {
          subresource: "status",
          precondition: [
            { path: "/metadata/uid", value: "uid-web" },
            { path: "/spec/type", value: "LoadBalancer" },
            { path: "/metadata/deletionTimestamp", value: DELETED.metadata.deletionTimestamp },
            { path: "/metadata/finalizers/1", value: LOAD_BALANCER_FINALIZER },
            { path: expect.stringContaining("/metadata/annotations/") },
            { path: "/status/loadBalancer/ingress", value: [{ hostname: HOSTNAME }] },
          ],
          patch: [
            { op: "remove", path: "/metadata/finalizers/1" },
            { op: "remove", path: expect.stringContaining("/metadata/annotations/") },
            { op: "add", path: "/status/loadBalancer", value: {} },
          ],
        },
      ],
    });
  });

  // The API server rejects every change of the status of a ClusterIP Service with addresses, which one from
  // before Kubernetes 1.29 may still have.
  test.each<[string, Service]>([
    ["that we served", { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" } }],
    [
      "that the stock controller served",
      buildService({
        metadata: { finalizers: FINALIZERS },
        spec: { type: "ClusterIP" },
        status: { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } },
      }),
    ],
  ])("loses its addresses with the first change, of another type, %s", async (_, object) => {
    for (const answer of [observed(SHELF), observed(null)]) {
      const decision = await decide(object, answer);
      const [first] = decision.kind === "change" ? decision.writes : [];
      expect(first).toMatchObject({
        subresource: "status",
        patch: expect.arrayContaining([{ op: "add", path: "/status/loadBalancer", value: {} }]),
      });
    }
  });

  test("keeps addresses that its new class's controller has written since", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: "other.example.com" }] } };
    const object = { ...SERVED, spec: { ...SERVED.spec, loadBalancerClass: "a/b" }, status };
    expect((await converge(object, null)).object.status).toEqual(status);
  });

  test("is released after half a minute if it has only the stock controller's finalizer", async () => {
    const metadata = { finalizers: FINALIZERS, deletionTimestamp: getPastTime(1) };
    const { shelf, object } = await converge(buildService({ metadata }), SHELF);
    expect([shelf, object.metadata.finalizers, parseStateAnnotation(object)?.state]).toEqual([
      null,
      FINALIZERS,
      "leaving",
    ]);
    const later = await converge(object, null, buildContext({ now: new Date(NOW.getTime() + 31_000) }));
    expect([later.shelf, later.object.metadata.finalizers]).toEqual([null, []]);
  });

  test.each<[string, LoadBalancerStep, object]>([
    [
      "is retried while the cloud deletes its load balancer",
      wait(7),
      { kind: "retry", afterSeconds: 7, because: { code: "LoadBalancerInProgress" } },
    ],
    [
      "is retried while something of its load balancer is left",
      settled([{ hostname: HOSTNAME }]),
      { kind: "retry", afterSeconds: 10 },
    ],
    [
      "gets an Event if the cloud refuses the deletion",
      { kind: "refused", issue: PROBLEM },
      { kind: "retry", events: [{ reason: "DeleteLoadBalancerFailed", code: "LoadBalancerRefused" }] },
    ],
    [
      "gets an Event if its load balancer has deletion protection",
      { kind: "refused", issue: { code: "DeletionProtected" } },
      { kind: "retry", events: [{ reason: "DeleteLoadBalancerFailed", code: "DeletionProtected" }] },
    ],
    [
      "gets an Event if a group with its rules is hidden",
      { kind: "refused", issue: { code: "SecurityGroupHidden" } },
      { kind: "retry", events: [{ reason: "DeleteLoadBalancerFailed", code: "SecurityGroupHidden" }] },
    ],
    [
      "is released if its load balancer belongs to another controller now",
      { kind: "foreign" },
      { kind: "change", events: [] },
    ],
  ])("%s", async (_, next, decision) => {
    expect(await decide(DELETED, observed(null), buildContext(), { next })).toMatchObject(decision);
  });

  test("is released if we never served it, it is being deleted, and the cloud has nothing of it", async () => {
    const metadata = { finalizers: FINALIZERS, deletionTimestamp: getPastTime(1) };
    const stock = buildService({ metadata });
    const script = { next: { kind: "foreign" } } as const;
    expect(await decide(stock, observed(null), buildContext(), script)).toMatchObject({ kind: "change" });
    const before = { before: { kind: "foreign" } } as const;
    for (const object of [stock, DELETED])
      expect((await createController(before)).buildQuestion(object, buildContext())).toMatchObject({
        ask: { wanted: false, nodes: [] },
      });
    expect(await decide(stock, undefined, buildContext(), before)).toMatchObject({ kind: "retry" });
  });

  test("is retried while the cloud does not answer", async () => {
    const answer = { kind: "error", code: "Unavailable", message: "502" } as const;
    expect(await decide(DELETED, answer)).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });

  test("is ignored without a finalizer", async () => {
    const plain = buildService({ spec: { type: "ClusterIP" } });
    const controller = await createController();
    expect([
      controller.buildQuestion(plain, buildContext()),
      decideOn(controller, { object: plain }),
    ]).toMatchObject([undefined, { kind: "unchanged" }]);
  });
});

function wait(afterSeconds: number): LoadBalancerStep {
  return { kind: "wait", because: { code: "Provisioning", message: "in a moment" }, afterSeconds };
}

function settled(
  ingress: readonly { readonly hostname?: string; readonly ip?: string; readonly ipMode?: string }[],
) {
  return { kind: "settled", ingress, warnings: [] } as const satisfies LoadBalancerStep;
}
