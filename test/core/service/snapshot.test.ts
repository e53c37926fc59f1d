import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseService, snapshotOf } from "#core/service/snapshot.ts";
import { given } from "#test/core/given.ts";
import { service } from "#test/core/service/builders.ts";

const LONG = "x".repeat(4_097);

describe("the snapshot of a Service", () => {
  test.each([
    ["an annotation of a load balancer", "service.beta.kubernetes.io/aws-load-balancer-type", "nlb", true],
    ["one however long", "service.beta.kubernetes.io/aws-load-balancer-subnets", LONG, true],
    ["one of ours", "serverless-ccm.io/load-balancer", LONG, true],
    ["one of another cloud", "kubernetes.digitalocean.com/load-balancer-id", "a", true],
    ["one of somebody else that is long", "example.com/a", LONG, false],
    ["what kubectl keeps", "kubectl.kubernetes.io/last-applied-configuration", "{}", false],
  ])("has %s: %s", (_, key, value, isKept) => {
    const { annotations } = snapshotOf(service({ metadata: { annotations: { [key]: value } } })).metadata;
    expect(annotations).toEqual(isKept ? { [key]: value } : {});
  });

  test("has no annotations where the Service has none", () => {
    expect(snapshotOf(service()).metadata).not.toHaveProperty("annotations");
  });

  test("of a snapshot is itself, and parses as itself", () => {
    const annotations = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant(LONG)));
    given([annotations], (values) => {
      const once = snapshotOf(service({ metadata: { annotations: values } }));
      expect(snapshotOf(once)).toEqual(once);
      expect(parseService(JSON.parse(JSON.stringify(once)))).toEqual({ kind: "object", object: once });
    });
  });
});

test("an address keeps what is not known of it", () => {
  const ingress = [{ ip: "192.0.2.1", ipMode: "VIP", zone: "a" }];
  const parsed = parseService({ ...service(), status: { loadBalancer: { ingress } } });
  expect(parsed).toMatchObject({ object: { status: { loadBalancer: { ingress } } } });
});

test("what is no Service is malformed, with as much of its identity as it has", () => {
  expect(parseService({ metadata: { name: "web" } })).toMatchObject({ kind: "malformed", name: "web" });
});

test("of labels those stay by which a cloud's address is known, and a map that had others stays", () => {
  const { metadata, ...rest } = parsedService({ implementation: "kube-vip", team: "a" });
  expect(snapshotOf({ metadata, ...rest }).metadata.labels).toEqual({ implementation: "kube-vip" });
  expect(snapshotOf(parsedService({ team: "a" })).metadata).toMatchObject({ labels: {} });
  expect(snapshotOf(parsedService({ team: "a" })).metadata).not.toHaveProperty("annotations");
});

function parsedService(labels: Readonly<Record<string, string>>) {
  return service({ metadata: { labels } });
}
