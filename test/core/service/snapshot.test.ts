import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseService, projectService } from "#core/service/snapshot.ts";
import { checkProperty } from "#test/core/check-property.ts";
import { buildService } from "#test/core/service/builders.ts";

const LONG = "x".repeat(4_097);

describe("the snapshot of a Service", () => {
  test.each([
    ["an annotation of a load balancer", "service.beta.kubernetes.io/aws-load-balancer-type", "nlb", true],
    ["one however long", "service.beta.kubernetes.io/aws-load-balancer-subnets", LONG, true],
    ["one of ours", "serverless-ccm.io/load-balancer", LONG, true],
    ["one of another cloud", "kubernetes.digitalocean.com/load-balancer-id", "a", true],
    ["a long one of another owner", "example.com/a", LONG, false],
    ["what kubectl keeps", "kubectl.kubernetes.io/last-applied-configuration", "{}", false],
  ])("has %s: %s", (_, key, value, isKept) => {
    const { annotations } = projectService(
      buildService({ metadata: { annotations: { [key]: value } } }),
    ).metadata;
    expect(annotations).toEqual(isKept ? { [key]: value } : {});
  });

  test("has no annotations if the Service has none", () => {
    expect(projectService(buildService()).metadata).not.toHaveProperty("annotations");
  });

  test("of a snapshot is itself, and parses as itself", () => {
    const annotations = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant(LONG)));
    checkProperty([annotations], (values) => {
      const once = projectService(buildService({ metadata: { annotations: values } }));
      expect(projectService(once)).toEqual(once);
      expect(parseService(JSON.parse(JSON.stringify(once)))).toEqual({ kind: "object", object: once });
    });
  });
});

test("an address keeps its unknown fields", () => {
  const ingress = [{ ip: "192.0.2.1", ipMode: "VIP", zone: "a" }];
  const parsed = parseService({ ...buildService(), status: { loadBalancer: { ingress } } });
  expect(parsed).toMatchObject({ object: { status: { loadBalancer: { ingress } } } });
});

test("an invalid Service is malformed, and keeps the valid parts of its identity", () => {
  expect(parseService({ metadata: { name: "web" } })).toMatchObject({ kind: "malformed", name: "web" });
});

test("keeps the labels that identify a cloud's address, and an emptied map", () => {
  const { metadata, ...rest } = parsedService({ implementation: "kube-vip", team: "a" });
  expect(projectService({ metadata, ...rest }).metadata.labels).toEqual({ implementation: "kube-vip" });
  expect(projectService(parsedService({ team: "a" })).metadata).toMatchObject({ labels: {} });
  expect(projectService(parsedService({ team: "a" })).metadata).not.toHaveProperty("annotations");
});

function parsedService(labels: Readonly<Record<string, string>>) {
  return buildService({ metadata: { labels } });
}
