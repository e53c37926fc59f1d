import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectCluster } from "#cli/clusters/reach-cluster.ts";
import { explain } from "#cli/explain/explain.ts";
import { parseSubject } from "#cli/explain/find-cluster.ts";
import { explainService } from "#cli/explain/service/explain-service.ts";
import { buildServiceExplanation, findServiceRemedy } from "#cli/explain/service/explanation.ts";
import { formatServiceExplanation } from "#cli/explain/service/lines.ts";
import { createMemoryCloud } from "#clouds/memory/cloud.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { ISSUES } from "#core/service/issues.ts";
import { formatStateAnnotation } from "#core/service/state-annotation.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";
import { buildService } from "#test/core/service/builders.ts";

let cluster: ClusterInReach;
let cloudConfig: string;

beforeAll(async () => {
  cluster = await startClusterInReach();
  cloudConfig = join(cluster.folder, "cloud.yaml");
  await writeFile(join(cluster.folder, "instances.json"), JSON.stringify({ instances: [] }));
  await writeFile(cloudConfig, `instancesFile: ${join(cluster.folder, "instances.json")}\n`);
  await cluster.put(
    "/api/v1/nodes/node-1",
    buildJoiningNode({ name: "node-1", providerID: "memory:///a/i-1" }),
  );
  await put("web", {});
  await put("theirs", { loadBalancerClass: "example.com/lb" });
  await put("inner", { type: "ClusterIP" });
  await put("portless", { ports: [] });
});
afterAll(() => cluster.close());

describe("the subject to explain", () => {
  test.each<[string, readonly string[], object]>([
    ["a node", ["up"], { kind: "node", name: "up", cluster: undefined }],
    ["a node of a cluster", ["up", "a"], { kind: "node", name: "up", cluster: "a" }],
    ["a node, by the long form", ["node", "up"], { kind: "node", name: "up", cluster: undefined }],
    ["the same of a cluster", ["node", "service", "a"], { kind: "node", name: "service", cluster: "a" }],
    ["a node that is called service", ["service"], { kind: "node", name: "service" }],
    ["a Service", ["service", "a/b"], { kind: "service", name: { namespace: "a", name: "b" } }],
    ["a Service of a cluster", ["service", "a/b", "c"], { kind: "service", cluster: "c" }],
  ])("%s", (_, words, explained) => expect(parseSubject(words)).toMatchObject(explained));

  test.each([
    ["a Service without its namespace", ["service", "web"], 'service: is "web": NAMESPACE/NAME is expected'],
    ["a Service with too much", ["service", "a/b/c"], 'is "a/b/c"'],
    ["a kind that is not explained", ["pod", "a", "b"], 'what: is "pod"'],
  ])("%s is rejected", (_, words, message) => expect(() => parseSubject(words)).toThrow(message));
});

describe("explain service", () => {
  test.each<[string, string, object, readonly string[]]>([
    [
      "that no controller has served",
      "web",
      {},
      [
        "  default/web, type LoadBalancer",
        "ours to make: it is of no class",
        "nothing of this Service exists",
        "would patch services/status web: add /metadata/finalizers",
        "would call CreateLoadBalancer on ",
        "because CreateLoadBalancer: 1 listeners, 1 targets",
        "the relay sends it to the function",
      ],
    ],
    [
      "while the stock controller has them",
      "web",
      { controllers: "*" },
      [
        "the stock controller's as long as it runs; service-lb-controller is not among the controllers",
        "would call CreateLoadBalancer on ",
        "switch-the-stock-controller-off.md",
      ],
    ],
    [
      "of another class",
      "theirs",
      {},
      ["another controller's, by spec.loadBalancerClass example.com/lb", "was not asked"],
    ],
    ["of another type", "inner", {}, ["of type ClusterIP and asks for no load balancer", "does nothing"]],
    [
      "that cannot be served",
      "portless",
      {},
      [
        "does nothing, and checks again after ",
        "because NoPorts: spec.ports",
        "NoPorts: give the Service a port",
      ],
    ],
  ])("%s", async (_, name, more, words) => {
    const lines = (await explained(name, more)).join("\n");
    for (const each of words) expect(lines).toContain(each);
  });

  test("reports a stop first, and that the Service waits for it", async () => {
    const stopSwitch = join(cluster.folder, "stop.json");
    await writeFile(stopSwitch, JSON.stringify({ version: 1, stopped: [{ what: "writes" }] }));
    const lines = await explained("web", { stopSwitch });
    expect(lines.slice(0, 2)).toEqual(["stopped", "  writes of all clusters are stopped"]);
    expect(lines[lines.indexOf("what to do") + 1]).toMatch(/^ {2}Stopped: an operator has stopped writes/);
    expect(lines.join("\n")).not.toContain("the relay sends it to the function");
  });

  test("writes nothing, and reads with the relay's rights only", async () => {
    const before = await cluster.get("/api/v1/services");
    await explained("web");
    expect(await cluster.get("/api/v1/services")).toEqual(before);
    const writes = (await cluster.plane.record()).filter(
      ({ user, verb }) => user !== "admin" && !["get", "list"].includes(verb),
    );
    expect(writes).toEqual([]);
  });

  test("reports what the cloud has, where it differs, and whether anything is left to do", async () => {
    const { uid } = (
      (await cluster.get("/api/v1/namespaces/default/services/web")) as { metadata: { uid: string } }
    ).metadata;
    const balancer: MemoryLoadBalancer = {
      ...{
        cluster: "tenant-a",
        service: "default/web",
        hostname: "web.example",
        listeners: [],
        targets: ["memory:///a/i-0"],
      },
    };
    const loadBalancers = new Map([[uid, balancer]]);
    const cloud = createMemoryCloud({ instances: new Map(), loadBalancers });
    const reached = await connectCluster(undefined, await flagsOf({}), {});
    try {
      const at = { namespace: "default", name: "web" };
      const explanation = await explainService(reached, cloud, at, AbortSignal.timeout(120_000));
      expect(explanation).toMatchObject({
        whose: { kind: "free" },
        observed: { kind: "observed", state: balancer },
        described: { belongsTo: "service", lines: ["load balancer at web.example", "targets: 1"] },
        report: { decision: { kind: "change", because: { code: "UpdateLoadBalancer" } } },
      });
      expect(loadBalancers.get(uid)).toEqual(balancer);
    } finally {
      await reached.close();
    }
  });

  test("prints the same facts as JSON that is safe for terminals", async () => {
    const [line = "", ...others] = await explained("web", { json: true });
    expect(others).toEqual([]);
    expect(line).toMatch(/^[\x20-\x7E]+$/);
    expect(JSON.parse(line)).toMatchObject({
      cluster: "tenant-a",
      whose: { kind: "free" },
      report: { decision: {} },
    });
  });

  test.each([
    ["like another", "wbe", 'has no Service "default/wbe"; did you mean default/web'],
    ["that is a path", "..", 'has no Service "default/.."'],
  ])("rejects a name %s", async (_, name, message) => {
    await expect(explained(name)).rejects.toThrow(message);
  });
});

const report = (code: string, outcome: "retry" | "unchanged" = "retry") => ({
  outcome,
  because: { code, message: `about ${code}` },
});
const marked = (state: "applied" | "applying") => {
  const at = "2026-03-01T12:00:00.000Z";
  const hashes = { seen: "s", desired: "d", targets: "t", ingress: "i", nodes: "1" };
  return buildService({
    metadata: {
      finalizers: [LOAD_BALANCER_FINALIZER],
      annotations: {
        [LOAD_BALANCER_ANNOTATION]: formatStateAnnotation({ uid: "uid-web", state, at, ...hashes }),
      },
    },
  });
};
const none = { cluster: "tenant-a", observed: undefined, described: undefined, isOn: true };

describe("an explanation", () => {
  test.each<[string, Partial<Parameters<typeof buildServiceExplanation>[0]>, string, readonly string[]]>([
    [
      "of one of ours",
      { service: marked("applied"), report: report("Same", "unchanged") },
      "ours by our annotation: as it was",
      ["nothing on this Service is"],
    ],
    [
      "of one under way",
      { service: marked("applying"), report: report("LoadBalancerInProgress") },
      "under way since 2026",
      ["LoadBalancerInProgress: none"],
    ],
    [
      "of ours, not on any more",
      { service: marked("applied"), report: report("Same", "unchanged"), isOn: false },
      "not among the controllers",
      [],
    ],
    [
      "of another's by annotation",
      { service: buildService(), report: report("Elsewhere") },
      "aws-load-balancer-type",
      ["Elsewhere: none here"],
    ],
    [
      "of what the stock controller served",
      {
        service: buildService({ metadata: { finalizers: [LOAD_BALANCER_FINALIZER] } }),
        report: report("Throttled"),
      },
      "by its finalizer",
      ["Throttled: none"],
    ],
    [
      "with something of another's",
      { service: buildService(), report: report("NameTaken"), described: { belongsTo: "other", lines: [] } },
      "ours to make",
      ["what is another's by its tags"],
    ],
  ])("%s", (_, given, because, advice) => {
    const explanation = buildServiceExplanation({
      ...none,
      service: buildService(),
      report: report("X"),
      ...given,
    });
    expect(explanation.whose.because).toContain(because);
    for (const each of advice) expect(explanation.advice.join("\n")).toContain(each);
  });

  test("of a silent cloud and of hostile text is safe to print", () => {
    const observed = { kind: "error", code: "Denied", message: "no \u001b[2J" } as const;
    const text = formatServiceExplanation(
      buildServiceExplanation({
        ...none,
        service: buildService({ metadata: { name: "a\u202e" } }),
        report: report("Denied"),
        observed,
      }),
    ).join("\n");
    expect(text).toContain("Denied: no \\u{001B}[2J");
    expect(["\u001b[2J", "\u202e"].filter((each) => text.includes(each))).toEqual([]);
  });
});

test("every problem of a Service has a remedy, and an unknown code has none", () => {
  expect(Object.keys(ISSUES).filter((code) => findServiceRemedy(code) === undefined)).toEqual([]);
  expect([findServiceRemedy("constructor"), findServiceRemedy("LoadBalancerEnsured")]).toEqual([
    undefined,
    undefined,
  ]);
});

async function flagsOf(more: object) {
  const relayKubeconfig = await cluster.plane.kubeconfig("relay");
  return cluster.flags("service", {
    ...{ cloudProvider: "memory", cloudConfig, relayKubeconfig, controllers: "*,service" },
    ...more,
  });
}

async function explained(name: string, more: object = {}): Promise<string[]> {
  const lines: string[] = [];
  await explain(["service", `default/${name}`], await flagsOf(more), (line) => lines.push(line), {});
  return lines;
}

function put(name: string, spec: object): Promise<void> {
  const ports = [{ port: 80 }];
  return cluster.put(`/api/v1/namespaces/default/services/${name}`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { type: "LoadBalancer", ports, ...spec },
  });
}
