import { describe, expect, test } from "vitest";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { Decision } from "#core/decision.ts";
import { patched } from "#core/json-patch.ts";
import { markOf } from "#core/service/mark.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, Problem } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  annotationOf,
  context,
  controllerWith,
  converged,
  decideOn,
  FINALIZERS,
  HOSTNAME,
  listing,
  NOW,
  related,
  type Script,
  SETTINGS,
  secondsAgo,
  served,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const WISH = JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]);
const SHELF = { wish: WISH, targets: ["i-a"] };
const SERVED = await served();
const DELETED: Service = {
  ...SERVED,
  metadata: { ...SERVED.metadata, deletionTimestamp: secondsAgo(5) },
};
const PROBLEM: Problem = {
  code: "InvalidAnnotation",
  field: "example.kubernetes.io/a",
  value: "b",
  allowed: "c",
};
const observed = (state: unknown) => ({ kind: "observed", state }) as const;
const reasons = (events: readonly { readonly reason: string }[]): readonly string[] =>
  events.map(({ reason }) => reason);

async function decide(object: Service, answer?: unknown, asked = context(), script: Script = {}) {
  return decideOn(await controllerWith(script), { object, answer }, asked);
}

describe("a Service that wants a load balancer", () => {
  test("is taken on before anything is made, and served when all is", async () => {
    const { object, shelf, decisions } = await converged(service(), null);
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

  test("is guarded by what it was read as", async () => {
    const decision = await decide(service({ metadata: { generation: 3 } }), observed(null));
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
    const { object } = await converged(service({ metadata }), null);
    expect(object.metadata.finalizers).toEqual(["example.com/a", LOAD_BALANCER_FINALIZER]);
    expect(object.metadata.annotations).toMatchObject({ "example.com/b": "c" });
  });

  test("that the stock controller has served is taken over with one write, and one when the cloud was observed once more", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } };
    const stock = service({ metadata: { finalizers: FINALIZERS }, status });
    const taken = await converged(stock, SHELF);
    expect(taken.decisions).toMatchObject([{ kind: "change" }, { kind: "retry", afterSeconds: 45 }]);
    const now = new Date(NOW.getTime() + 45_000);
    const { object, decisions } = await converged(taken.object, SHELF, context({ now }));
    expect(decisions.map(({ kind }) => kind)).toEqual(["change", "unchanged"]);
    expect(needsWork(object, SETTINGS)).toBe(false);
  });

  test("is asked about for the audit, and unchanged where all is as it was", async () => {
    const { decisions } = await converged(SERVED, SHELF, context({ reason: "refresh" }));
    expect(decisions).toMatchObject([{ kind: "unchanged" }]);
  });

  test("has its annotation alone written where no more than that has changed", async () => {
    const annotations = { ...SERVED.metadata.annotations, "example.com/any": "thing" };
    const object = { ...SERVED, metadata: { ...SERVED.metadata, annotations } };
    const decision = await decide(object);
    expect(decision).toMatchObject({
      kind: "change",
      events: [],
      writes: [{ patch: [{ path: `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replace("/", "~1")}` }] }],
    });
  });

  test("says while something is under way that it is, so that going back halfway is seen", async () => {
    const lists = related(
      [
        { name: "a", providerID: "i-a" },
        { name: "b", providerID: "i-b" },
      ],
      [],
      "501",
    );
    const decision = await decide(SERVED, observed(SHELF), context({ related: lists }));
    const [first] = decision.kind === "change" ? decision.writes : [];
    expect(JSON.stringify(first)).toContain('\\"targets\\":\\"\\"');
    const { object, decisions } = await converged(SERVED, SHELF, context({ related: lists }));
    expect(decisions.flatMap((each) => (each.kind === "change" ? reasons(each.events) : []))).toEqual([
      "EnsuringLoadBalancer",
      "UpdatedLoadBalancer",
    ]);
    expect(needsWork(object, SETTINGS)).toBe(false);
  });

  test("is looked at for its targets alone where a change of them was broken off, and needs work until then", async () => {
    const more = related([{ name: "b", providerID: "i-b" }], [], "501");
    const decision = await decide(SERVED, observed(SHELF), context({ related: more }));
    const [claimed] = decision.kind === "change" ? decision.writes : [];
    if (claimed?.on !== "cluster" || !("patch" in claimed)) throw new Error("nothing was claimed");
    const broken = patched(SERVED, claimed.patch);
    expect(needsWork(broken, SETTINGS)).toBe(true);
    // The nodes are those again that were applied.
    const back = context({ related: related(undefined, [], "502") });
    const controller = await controllerWith();
    expect(controller.asks(broken, back)).toMatchObject({ ask: { onlyTargets: true } });
    const { object, shelf } = await converged(broken, { ...SHELF, targets: ["i-b"] }, back);
    expect(needsWork(object, SETTINGS)).toBe(false);
    expect(shelf).toEqual(SHELF);
  });

  test("says that all of it is under way where more than targets is changed", async () => {
    const lists = related([{ name: "b", providerID: "i-b" }], [], "501");
    const asked = context({ related: lists, reason: "refresh" });
    const decision = await decide(SERVED, observed(SHELF), asked);
    const [first] = decision.kind === "change" ? decision.writes : [];
    expect(JSON.stringify(first)).toContain('\\"state\\":\\"applying\\"');
  });

  test("keeps its load balancer where there is no node, with a Warning", async () => {
    const first = await converged(SERVED, SHELF, listing([]));
    const { object, shelf, decisions } = await converged(first.object, first.shelf, listing([], 30));
    expect(shelf).toEqual({ wish: WISH, targets: [] });
    expect(object.status).toEqual(SERVED.status);
    expect(decisions.flatMap((each) => ("events" in each ? reasons(each.events) : []))).toContain(
      "UnAvailableLoadBalancer",
    );
  });

  test.each<[string, LoadBalancerStep, string]>([
    ["waits as long as the cloud is at it", wait(7), "taken on"],
    ["is settled without an address: the status stays", settled([]), "retry 5"],
    ["is refused", { kind: "refused", problem: PROBLEM }, "retry 30"],
    ["is another controller's", { kind: "elsewhere" }, "skip"],
  ])("%s", async (_, next, outcome) => {
    const decision = await decide(service(), observed(null), context(), { next });
    const said = decision.kind === "change" ? "taken on" : decision.kind;
    expect([said, ...("afterSeconds" in decision ? [decision.afterSeconds] : [])].join(" ")).toBe(outcome);
  });

  test("that waits is due again when the cloud says", async () => {
    const { decisions } = await converged(service(), null, context(), { next: wait(7) });
    expect(decisions.at(-1)).toMatchObject({
      kind: "retry",
      afterSeconds: 7,
      because: { code: "LoadBalancerInProgress", message: "Provisioning: in a moment" },
    });
  });

  test("says of an address how it is used, which the API server would say", async () => {
    const next = settled([{ ip: "192.0.2.1" }, { ip: "192.0.2.2", ipMode: "Proxy" }]);
    const { object, decisions } = await converged(service(), null, context(), { next });
    expect(object.status?.loadBalancer?.ingress).toEqual([
      { ip: "192.0.2.1", ipMode: "VIP" },
      { ip: "192.0.2.2", ipMode: "Proxy" },
    ]);
    expect(decisions[0]).toMatchObject({
      because: { message: "the load balancer is at 192.0.2.1, 192.0.2.2" },
    });
  });

  test("is told of what does not keep it from being served", async () => {
    const next = { ...settled([{ hostname: HOSTNAME }]), warnings: [PROBLEM] } as LoadBalancerStep;
    expect(await decide(service(), observed(null), context(), { next })).toMatchObject({
      kind: "change",
      events: [
        { reason: "EnsuredLoadBalancer" },
        { reason: "SyncLoadBalancerFailed", code: "InvalidAnnotation" },
      ],
      warnings: [{ code: "InvalidAnnotation", message: 'example.kubernetes.io/a is "b"; allowed: c' }],
    });
  });
});

describe("a Service is not decided on", () => {
  const mark = JSON.parse(annotationOf(SERVED) ?? "") as Record<string, unknown>;
  const withNodes = (nodes: string, at: string): Service =>
    withAnnotation(SERVED, JSON.stringify({ ...mark, nodes, at }));
  const refresh = context({ reason: "refresh" });
  const others = context({ related: related([{ name: "z", providerID: "i-z" }]) });
  const withMark = (difference: object): Service =>
    withAnnotation(SERVED, JSON.stringify({ ...mark, ...difference }));
  const withPort = (object: Service, port: number): Service => ({
    ...object,
    spec: { ...object.spec, ports: [{ protocol: "TCP", port, nodePort: 30_000 }] },
  });

  test.each<[string, Service, ReturnType<typeof context>, string]>([
    ["without the nodes", service(), context({ related: {} }), "NodesUnknown"],
    ["by older nodes than were applied", withNodes("501", secondsAgo(59)), refresh, "NodesStale"],
    [
      "by older nodes, though its clock is a little ahead",
      withNodes("501", secondsAgo(-30)),
      refresh,
      "NodesStale",
    ],
    [
      "without the other Services",
      service(),
      context({ related: { nodes: related()["nodes"] } }),
      "LoadBalancerLimit",
    ],
    [
      "while others come first",
      service(),
      context({ settings: { ...SETTINGS, loadBalancers: { max: 0, deleteOrphaned: false } } }),
      "LoadBalancerLimit",
    ],
    ["while the cloud was not asked", service(), context(), "Unavailable"],
  ])("%s", async (_, object, asked, code) => {
    const controller = await controllerWith();
    if (code !== "Unavailable") expect(controller.asks(object, asked)).toBeUndefined();
    expect(decideOn(controller, { object }, asked)).toMatchObject({ kind: "retry", because: { code } });
  });

  test.each<[string, Service]>([
    ["as new as those", withNodes("500", secondsAgo(1))],
    ["older by far longer than anybody lags behind", withNodes("501", secondsAgo(61))],
    ["older than a time that is not yet", withNodes("501", secondsAgo(-61))],
    ["older than what is no version", withNodes("x", secondsAgo(1))],
  ])("but by nodes that are %s", async (_, object) => {
    expect((await controllerWith()).asks(object, refresh)).toMatchObject({ capability: "loadBalancers" });
  });

  test.each<[string, Service, ReturnType<typeof context>, true | undefined]>([
    ["of one whose nodes alone are others by now", SERVED, others, true],
    ["of one that asks for something else, too", withPort(SERVED, 8_080), others, undefined],
    ["of one that was not applied to its end", withMark({ state: "applying" }), others, undefined],
    ["of one whose status somebody else has written", withMark({ ingress: "x" }), others, undefined],
    ["at the audit", SERVED, context({ ...others, reason: "refresh" }), undefined],
    ["of one that is new", service(), others, undefined],
  ])("%s, targets alone are asked about: %s", async (_, object, asked, onlyTargets) => {
    const question = (await controllerWith()).asks(object, asked) as { readonly ask: LoadBalancerQuestion };
    expect(question.ask.wanted).toBe(true);
    expect(question.ask.onlyTargets).toBe(onlyTargets);
  });

  test("is asked about by a sweep in one minute of ten, as nobody else comes for the audit", async () => {
    const controller = await controllerWith();
    const asked = Array.from({ length: 20 }, (_, minute) =>
      controller.asks(SERVED, context({ reason: "sweep", now: new Date(NOW.getTime() + minute * 60_000) })),
    );
    expect(asked.filter((question) => question !== undefined)).toHaveLength(2);
  });

  test("says before the cloud is asked what it knows by itself", async () => {
    const refused = { before: { kind: "refused", problem: PROBLEM } } as const;
    expect((await controllerWith(refused)).asks(service(), context())).toBeUndefined();
    expect(await decide(SERVED, undefined, context(), refused)).toMatchObject({
      kind: "retry",
      because: { code: "InvalidAnnotation" },
      events: [{ reason: "SyncLoadBalancerFailed", code: "InvalidAnnotation" }],
    });
    expect(await decide(service(), undefined, context(), { before: { kind: "elsewhere" } })).toMatchObject({
      kind: "skip",
      because: { code: "Elsewhere" },
    });
  });

  test("costs nothing while all that it asks for is applied", async () => {
    const controller = await controllerWith();
    expect(controller.asks(SERVED, context())).toBeUndefined();
    expect(decideOn(controller, { object: SERVED })).toMatchObject({ kind: "unchanged" });
  });

  test("of a cloud that has no load balancers here is left alone", async () => {
    const settings = { ...SETTINGS, cloud: { provider: "toString" } };
    const controller = await controllerWith();
    await controller.load?.("toString");
    expect(controller.asks(service(), context({ settings }))).toBeUndefined();
    expect(decideOn(controller, { object: service() }, context({ settings }))).toMatchObject({
      kind: "skip",
      because: { code: "NotSupported" },
    });
  });
});

describe("a Service that wants no load balancer any more", () => {
  test.each<[string, Service]>([
    ["as it is being deleted", DELETED],
    [
      "as its type is another one",
      { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" }, status: undefined },
    ],
    ["as its class is another one", { ...SERVED, spec: { ...SERVED.spec, loadBalancerClass: "a/b" } }],
  ])("is let go when nothing is left, %s", async (_, object) => {
    const { shelf, object: after, decisions } = await converged(object, SHELF);
    expect(shelf).toBeNull();
    // The controller of the other class has the same finalizer.
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
    const text = JSON.stringify({ ...JSON.parse(written), state, at: secondsAgo(secondsBefore) });
    const annotations = { ...DELETED.metadata.annotations, [LOAD_BALANCER_ANNOTATION]: text };
    return { ...DELETED, metadata: { ...DELETED.metadata, annotations } };
  };

  test.each<[string, Service, Script["shows"], string]>([
    ["what was applied is believed to be gone where it was seen", leaving("applied", 1), true, "let go"],
    [
      "what was applied just now and is not seen is looked for",
      leaving("applied", 59),
      false,
      "retry in 10 s",
    ],
    ["what was applied a minute ago is not", leaving("applied", 60), false, "let go"],
    ["nor is it by a clock that is far ahead", leaving("applied", -61), false, "let go"],
    ["what is a little ahead is looked for", leaving("applied", -5), false, "retry in 10 s"],
    ["what was under way is looked for from now on", leaving("applying", 3_600), false, "leaving"],
    [
      "what was under way and is seen, too, as there may be more",
      leaving("applying", 3_600),
      true,
      "leaving",
    ],
    ["what is looked for is not yet given up", leaving("leaving", 29), false, "retry in 10 s"],
    ["what was looked for is given up", leaving("leaving", 30), false, "let go"],
    ["what nobody can tell to be seen counts as seen", leaving("applied", 1), undefined, "let go"],
    ["but may be more where it was under way", leaving("applying", 3_600), undefined, "leaving"],
    ["a cloud that shows at once what it made is believed", leaving("applied", 1), "at once", "let go"],
    ["but not where another actor was at it", leaving("applying", 1), "at once", "leaving"],
    ["nor where that is looked for since a moment ago", leaving("leaving", 1), "at once", "retry in 10 s"],
  ])("%s", async (_, object, shows, expected) => {
    const controller = await controllerWith({ shows });
    const decision = decideOn(controller, { object, answer: observed(null) });
    expect(saidBy(decision)).toBe(expected);
  });

  /** Whether it is let go, is marked, or comes again. */
  function saidBy(decision: Decision): string {
    if (decision.kind === "retry") return `retry in ${decision.afterSeconds} s`;
    if (decision.kind !== "change") return decision.kind;
    const patches = decision.writes.flatMap((write) => ("patch" in write ? write.patch : []));
    if (patches.some(({ path }) => path.startsWith("/metadata/finalizers/"))) return "let go";
    const value = patches.flatMap((each) => ("value" in each ? [String(each.value)] : []))[0] ?? "null";
    expect(JSON.parse(value)).toMatchObject({ at: NOW.toISOString(), desired: expect.any(String) });
    return JSON.parse(value).state;
  }

  test("is let go in one patch, and only ours goes of what stands there", async () => {
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

  test("keeps the addresses that another controller of its class has written since", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: "other.example.com" }] } };
    const object = { ...SERVED, spec: { ...SERVED.spec, loadBalancerClass: "a/b" }, status };
    expect((await converged(object, null)).object.status).toEqual(status);
  });

  test("that the stock controller has served, or whose annotation was taken away, is let go half a minute later", async () => {
    const metadata = { finalizers: FINALIZERS, deletionTimestamp: secondsAgo(1) };
    const { shelf, object } = await converged(service({ metadata }), SHELF);
    expect([shelf, object.metadata.finalizers, markOf(object)?.state]).toEqual([null, FINALIZERS, "leaving"]);
    const later = await converged(object, null, context({ now: new Date(NOW.getTime() + 31_000) }));
    expect([later.shelf, later.object.metadata.finalizers]).toEqual([null, []]);
  });

  test.each<[string, LoadBalancerStep, object]>([
    ["waits", wait(7), { kind: "retry", afterSeconds: 7, because: { code: "LoadBalancerInProgress" } }],
    ["waits for what is left", settled([{ hostname: HOSTNAME }]), { kind: "retry", afterSeconds: 10 }],
    [
      "is told why not",
      { kind: "refused", problem: PROBLEM },
      { kind: "retry", events: [{ reason: "DeleteLoadBalancerFailed", code: "LoadBalancerRefused" }] },
    ],
    [
      "is told that it is protected",
      { kind: "refused", problem: { code: "DeletionProtected" } },
      { kind: "retry", events: [{ reason: "DeleteLoadBalancerFailed", code: "DeletionProtected" }] },
    ],
    ["is let go where it is another's by now", { kind: "elsewhere" }, { kind: "change", events: [] }],
  ])("%s", async (_, next, decision) => {
    expect(await decide(DELETED, observed(null), context(), { next })).toMatchObject(decision);
  });

  test("is released when it was never ours, is being deleted and the cloud has nothing of it", async () => {
    const metadata = { finalizers: FINALIZERS, deletionTimestamp: secondsAgo(1) };
    const stock = service({ metadata });
    const script = { next: { kind: "elsewhere" } } as const;
    expect(await decide(stock, observed(null), context(), script)).toMatchObject({ kind: "change" });
    const before = { before: { kind: "elsewhere" } } as const;
    for (const object of [stock, DELETED])
      expect((await controllerWith(before)).asks(object, context())).toMatchObject({
        ask: { wanted: false, nodes: [] },
      });
    expect(await decide(stock, undefined, context(), before)).toMatchObject({ kind: "retry" });
  });

  test("keeps what it has while the cloud does not answer", async () => {
    const answer = { kind: "error", code: "Unavailable", message: "502" } as const;
    expect(await decide(DELETED, answer)).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });

  test("is nobody's business without a finalizer", async () => {
    const plain = service({ spec: { type: "ClusterIP" } });
    const controller = await controllerWith();
    expect([controller.asks(plain, context()), decideOn(controller, { object: plain })]).toMatchObject([
      undefined,
      { kind: "unchanged" },
    ]);
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
