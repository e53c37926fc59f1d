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

describe("whether a Service needs a load balancer", () => {
  test.each<[string, Service, boolean]>([
    ["of type LoadBalancer", buildService(), true],
    ["of our class", buildService({ spec: { loadBalancerClass: LOAD_BALANCER_CLASS } }), true],
    ["of another class", buildService({ spec: { loadBalancerClass: "example.com/lb" } }), false],
    ["of an empty class", buildService({ spec: { loadBalancerClass: "" } }), false],
    ["of type NodePort", buildService({ spec: { type: "NodePort" } }), false],
    ["without a type", buildService({ spec: { type: undefined } }), false],
    ["that is being deleted", buildService({ metadata: DELETED }), false],
  ])("%s", (_, object, wants) => {
    expect(needsLoadBalancer(object)).toBe(wants);
  });
});

describe("whether a Service needs cleanup", () => {
  test.each<[string, Service, boolean]>([
    ["that needs a load balancer", SERVED, false],
    ["that is being deleted", metadata(DELETED), true],
    ["whose type has changed", spec({ type: "ClusterIP" }), true],
    ["whose class has changed, with our annotation", spec({ loadBalancerClass: "a/b" }), true],
    [
      "that is being deleted, without our finalizer",
      metadata({ ...DELETED, finalizers: ["example.com/a"] }),
      false,
    ],
    ["that is being deleted, without any finalizer", metadata({ ...DELETED, finalizers: undefined }), false],
    [
      "that is being deleted, with the stock controller's finalizer and no annotation",
      buildService({ metadata: { ...DELETED, finalizers: FINALIZERS } }),
      true,
    ],
    [
      "of another class that is being deleted, with the finalizer",
      buildService({ metadata: { ...DELETED, finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } }),
      true,
    ],
    [
      "of another type, with the finalizer and without our annotation",
      buildService({ metadata: { finalizers: FINALIZERS }, spec: { type: "ClusterIP" } }),
      true,
    ],
    [
      "of another class, with that controller's finalizer",
      buildService({ metadata: { finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } }),
      false,
    ],
    [
      "that is a copy with another UID",
      metadata({ uid: "uid-copy", ...DELETED, finalizers: undefined }),
      false,
    ],
  ])("%s", (_, object, needs) => {
    expect(needsCleanup(object)).toBe(needs);
  });
});

describe("whether a Service needs work", () => {
  const mark = JSON.parse(getAnnotation(SERVED) ?? "") as Record<string, unknown>;
  test.each<[string, Service, boolean]>([
    ["that is new", buildService(), true],
    ["that is served", SERVED, false],
    ["of another type", buildService({ spec: { type: "ClusterIP" } }), false],
    ["of another class", buildService({ spec: { loadBalancerClass: "a/b" } }), false],
    ["that is being deleted", metadata(DELETED), true],
    ["that is served and has lost its finalizer", metadata({ finalizers: ["example.com/a"] }), true],
    ["that was recreated with another UID", metadata({ uid: "uid-other" }), true],
    ["without our annotation", metadata({ annotations: {} }), true],
    ["with an invalid annotation", setAnnotation(SERVED, "{"), true],
    [
      "with an annotation of another version",
      setAnnotation(SERVED, JSON.stringify({ ...mark, version: 2 })),
      true,
    ],
    [
      "with a change in progress",
      setAnnotation(SERVED, JSON.stringify({ ...mark, state: "applying" })),
      true,
    ],
    ["with an empty status", changed(() => ({ status: { loadBalancer: {} } })), true],
    ["without a status", changed(() => ({ status: undefined })), true],
    ["with other ports", spec({ ports: [{ protocol: "UDP", port: 80 }] }), true],
    [
      "with another port name",
      spec({ ports: [{ protocol: "TCP", port: 80, nodePort: 30_080, name: "a" }] }),
      true,
    ],
    ["with other source ranges", spec({ loadBalancerSourceRanges: ["10.0.0.0/8"] }), true],
    ["with session affinity", spec({ sessionAffinity: "ClientIP" }), true],
    ["with a loadBalancerIP", spec({ loadBalancerIP: "192.0.2.1" }), true],
    ["with another traffic policy", spec({ externalTrafficPolicy: "Local" }), true],
    ["with another health check port", spec({ healthCheckNodePort: 31_000 }), true],
    ["with another IP family", spec({ ipFamilies: ["IPv4", "IPv6"] }), true],
    ["with another IP family policy", spec({ ipFamilyPolicy: "PreferDualStack" }), true],
    ["with another annotation", annotated({ "example.com/a": "b" }), true],
    [
      "with another annotation that no cloud reads",
      annotated({ "kubectl.kubernetes.io/last-applied-configuration": "{}" }),
      false,
    ],
    ["with another resourceVersion", metadata({ resourceVersion: "9" }), false],
    ["with another finalizer", metadata({ finalizers: [...FINALIZERS, "example.com/a"] }), false],
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
    ["without a class", undefined, false],
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
