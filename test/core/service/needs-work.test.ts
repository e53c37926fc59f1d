import { describe, expect, test } from "vitest";
import { LOAD_BALANCER_CLASS } from "#core/contracts.ts";
import { needsCleanup, needsLoadBalancer, needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  buildServedService,
  buildService,
  FINALIZERS,
  getAnnotation,
  getPastTime,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const DELETED = { deletionTimestamp: getPastTime(1) };
const SERVED = await buildServedService();
const changed = (change: (service: Service) => Partial<Service>): Service => ({
  ...SERVED,
  ...change(SERVED),
});
const spec = (difference: Partial<Service["spec"]>): Service =>
  changed((of) => ({ spec: { ...of.spec, ...difference } }));
const metadata = (difference: Partial<Service["metadata"]>): Service =>
  changed((of) => ({ metadata: { ...of.metadata, ...difference } }));
const annotated = (annotations: Record<string, string>): Service =>
  metadata({ annotations: { ...SERVED.metadata.annotations, ...annotations } });

describe("needs a load balancer", () => {
  test.each<[string, Service, boolean]>([
    ["of type LoadBalancer", buildService(), true],
    ["of our class", buildService({ spec: { loadBalancerClass: LOAD_BALANCER_CLASS } }), true],
    ["of another class", buildService({ spec: { loadBalancerClass: "example.com/lb" } }), false],
    ["of a class that is empty", buildService({ spec: { loadBalancerClass: "" } }), false],
    ["of type NodePort", buildService({ spec: { type: "NodePort" } }), false],
    ["without a type", buildService({ spec: { type: undefined } }), false],
    ["that is being deleted", buildService({ metadata: DELETED }), false],
  ])("%s", (_, object, wants) => {
    expect(needsLoadBalancer(object)).toBe(wants);
  });
});

describe("needs cleanup", () => {
  test.each<[string, Service, boolean]>([
    ["one that wants one", SERVED, false],
    ["one that is being deleted", metadata(DELETED), true],
    ["one of another type by now", spec({ type: "ClusterIP" }), true],
    ["one of another class by now, which our annotation tells", spec({ loadBalancerClass: "a/b" }), true],
    ["one without our finalizer", metadata({ ...DELETED, finalizers: ["example.com/a"] }), false],
    ["one without any finalizer", metadata({ ...DELETED, finalizers: undefined }), false],
    [
      "the stock controller's, by its type and finalizer",
      buildService({ metadata: { ...DELETED, finalizers: FINALIZERS } }),
      true,
    ],
    [
      "one of another class that is being deleted with the finalizer",
      buildService({ metadata: { ...DELETED, finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } }),
      true,
    ],
    [
      "one of another type by now that has lost our annotation",
      buildService({ metadata: { finalizers: FINALIZERS }, spec: { type: "ClusterIP" } }),
      true,
    ],
    [
      "a living one of another class with that controller's finalizer",
      buildService({ metadata: { finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } }),
      false,
    ],
    [
      "a copy of ours under another uid",
      metadata({ uid: "uid-copy", ...DELETED, finalizers: undefined }),
      false,
    ],
  ])("%s", (_, object, needs) => {
    expect(needsCleanup(object)).toBe(needs);
  });
});

describe("needs work", () => {
  const mark = JSON.parse(getAnnotation(SERVED) ?? "") as Record<string, unknown>;
  test.each<[string, Service, boolean]>([
    ["a new one", buildService(), true],
    ["one that is served", SERVED, false],
    ["one that wants none", buildService({ spec: { type: "ClusterIP" } }), false],
    ["one of another class", buildService({ spec: { loadBalancerClass: "a/b" } }), false],
    ["one that is being deleted", metadata(DELETED), true],
    ["one that is served and lost its finalizer", metadata({ finalizers: ["example.com/a"] }), true],
    ["one that came back under another uid", metadata({ uid: "uid-other" }), true],
    ["one without our annotation", metadata({ annotations: {} }), true],
    ["one whose annotation is rubbish", setAnnotation(SERVED, "{"), true],
    [
      "one whose annotation is of another version",
      setAnnotation(SERVED, JSON.stringify({ ...mark, version: 2 })),
      true,
    ],
    [
      "one with something under way",
      setAnnotation(SERVED, JSON.stringify({ ...mark, state: "applying" })),
      true,
    ],
    ["one whose status was cleared", changed(() => ({ status: { loadBalancer: {} } })), true],
    ["one whose status is not there", changed(() => ({ status: undefined })), true],
    ["other ports", spec({ ports: [{ protocol: "UDP", port: 80 }] }), true],
    [
      "another name of a port",
      spec({ ports: [{ protocol: "TCP", port: 80, nodePort: 30_080, name: "a" }] }),
      true,
    ],
    ["other source ranges", spec({ loadBalancerSourceRanges: ["10.0.0.0/8"] }), true],
    ["session affinity", spec({ sessionAffinity: "ClientIP" }), true],
    ["a loadBalancerIP", spec({ loadBalancerIP: "192.0.2.1" }), true],
    ["another traffic policy", spec({ externalTrafficPolicy: "Local" }), true],
    ["another port for health checks", spec({ healthCheckNodePort: 31_000 }), true],
    ["more families", spec({ ipFamilies: ["IPv4", "IPv6"] }), true],
    ["another policy of families", spec({ ipFamilyPolicy: "PreferDualStack" }), true],
    ["any other annotation", annotated({ "example.com/a": "b" }), true],
    [
      "an annotation that no cloud reads",
      annotated({ "kubectl.kubernetes.io/last-applied-configuration": "{}" }),
      false,
    ],
    ["another resourceVersion", metadata({ resourceVersion: "9" }), false],
    ["another owner's finalizer", metadata({ finalizers: [...FINALIZERS, "example.com/a"] }), false],
  ])("%s: %s", (_, object, needs) => {
    expect(needsWork(object, SETTINGS)).toBe(needs);
  });

  test.each([
    ["another name", { ...SETTINGS, cluster: "other" }, true],
    ["another configuration of its cloud", { ...SETTINGS, cloud: { provider: "shelf", vpc: "a" } }, true],
    ["other limits", { ...SETTINGS, loadBalancers: { max: 1, deleteOrphaned: true } }, false],
  ])("a served Service in a cluster with %s: %s", (_, settings, needs) => {
    expect(needsWork(SERVED, settings)).toBe(needs);
  });
});

describe("in a cluster that serves one load balancer class", () => {
  const settings = { ...SETTINGS, loadBalancerClass: "kube-vip.io/kube-vip-class" };
  const ofClass = (loadBalancerClass?: string) =>
    buildService({ spec: loadBalancerClass === undefined ? {} : { loadBalancerClass } });

  test.each([
    ["of that class", "kube-vip.io/kube-vip-class", true],
    ["of our own class", LOAD_BALANCER_CLASS, false],
    ["of another class", "example.com/lb", false],
    ["of none", undefined, false],
  ])("a Service %s", (_, loadBalancerClass, wants) => {
    const object = ofClass(loadBalancerClass);
    expect(needsLoadBalancer(object, settings)).toBe(wants);
    expect(needsWork(object, settings)).toBe(wants);
    const left = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: FINALIZERS },
    };
    expect(needsCleanup(left, settings)).toBe(true);
    const living = { ...object, metadata: { ...object.metadata, finalizers: FINALIZERS } };
    expect(needsCleanup(living, settings)).toBe(false);
  });
});
