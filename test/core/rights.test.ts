import { describe, expect, test } from "vitest";
import { WATCHES } from "#core/controllers.ts";
import type { Right } from "#core/descriptor.ts";
import { FUNCTION_IDENTITIES, formatUser, IDENTITIES } from "#core/identities.ts";
import { RIGHTS, resolveRight } from "#core/rights.ts";

const READS = ["get", "list", "watch"];
const isWrite = ({ verb }: Right): boolean => !READS.includes(verb);
const whoMay = (matches: (right: Right) => boolean): readonly string[] =>
  IDENTITIES.filter((identity) => RIGHTS[identity].some(matches));

describe("only the expected identities", () => {
  test.each<{ what: string; matches: (right: Right) => boolean; who: readonly string[] }>([
    { what: "delete", matches: ({ verb }) => verb === "delete", who: ["node-lifecycle"] },
    {
      what: "write nodes",
      matches: (right) => isWrite(right) && right.resource === "nodes",
      who: ["node", "node-lifecycle", "route", "tagging"],
    },
    {
      what: "write a node's status",
      matches: ({ resource, subresource }) => resource === "nodes" && subresource === "status",
      who: ["node", "route"],
    },
    {
      what: "write Services",
      matches: (right) => isWrite(right) && right.resource === "services",
      who: ["service"],
    },
    {
      what: "access the deletion state",
      matches: ({ resource, cloud }) => resource === "configmaps" && cloud === undefined,
      who: ["node-lifecycle"],
    },
    {
      what: "access a cloud's ConfigMap",
      matches: ({ resource, cloud }) => resource === "configmaps" && cloud !== undefined,
      who: ["service"],
    },
    {
      what: "renew the relay's Lease",
      matches: (right) => isWrite(right) && right.resource === "leases",
      who: ["relay"],
    },
    { what: "approve CSRs", matches: ({ verb }) => verb === "approve", who: ["csr"] },
    { what: "watch", matches: ({ verb }) => verb === "watch", who: ["relay"] },
  ])("$what", ({ what, matches, who }) => {
    expect(whoMay(matches), `if an identity needs to ${what}, name it in this row`).toEqual(who);
  });

  test("the identities of the sweep and of EC2 events write nothing", () => {
    expect([...RIGHTS.sweep, ...RIGHTS["ec2-events"], ...RIGHTS.audit].filter(isWrite)).toEqual([]);
  });
});

test("identities may access four ConfigMaps and Leases by name, and no others", () => {
  const seen = Object.values(RIGHTS).flat();
  const named = seen.filter(({ resource }) => ["configmaps", "leases"].includes(resource));
  expect(new Set(named.map(({ namespace, name }) => `${namespace}/${name}`))).toEqual(
    new Set([
      "kube-system/serverless-ccm",
      "kube-system/serverless-ccm-relay",
      "kube-system/vip-configmap",
      "kube-system/kubevip",
    ]),
  );
});

test("no right is listed twice", () => {
  for (const rights of Object.values(RIGHTS)) {
    const listed = rights.map((right) => JSON.stringify(Object.entries(right).sort()));
    expect(new Set(listed).size).toBe(listed.length);
  }
});

test("every controller's function has its own user", () => {
  expect(FUNCTION_IDENTITIES).toEqual(
    expect.arrayContaining(WATCHES.map(({ functionName }) => functionName)),
  );
  expect(formatUser("node-lifecycle")).toBe("serverless-ccm-node-lifecycle");
});

test("a Service is written only through its status, except for kube-vip's address in its spec", () => {
  const patches = RIGHTS.service.filter(({ resource, verb }) => resource === "services" && verb === "patch");
  expect(patches.map(({ subresource, cloud }) => [subresource, cloud])).toEqual([
    ["status", undefined],
    [undefined, "kubevip"],
  ]);
});

test("the right to a cloud's ConfigMap uses the configured name", () => {
  const named = (name: string) =>
    RIGHTS.service
      .map((right) => resolveRight(right, { namespace: "vips", configMap: name }))
      .filter(({ resource }) => resource === "configmaps")
      .map(({ namespace, name: of }) => `${namespace}/${of}`);
  expect(new Set(named("mine"))).toEqual(new Set(["vips/mine"]));
  expect(resolveRight({ verb: "get", group: "", resource: "configmaps", name: "a" }, {}).name).toBe("a");
});
