import { describe, expect, test } from "vitest";
import { FUNCTION_IDENTITIES, formatUser, IDENTITIES } from "#core/identities.ts";
import { RIGHTS, type Right, resolveRight } from "#core/rights.ts";
import { WATCHES } from "#core/watches.ts";

const READS = ["get", "list", "watch"];
const isWrite = ({ verb }: Right): boolean => !READS.includes(verb);
const whoMay = (matches: (right: Right) => boolean): readonly string[] =>
  IDENTITIES.filter((identity) => RIGHTS[identity].some(matches));

describe("the user that deletes is not the one that initializes:", () => {
  test.each<{ what: string; matches: (right: Right) => boolean; who: readonly string[] }>([
    { what: "deletes", matches: ({ verb }) => verb === "delete", who: ["node-lifecycle"] },
    {
      what: "writes a node",
      matches: (right) => isWrite(right) && right.resource === "nodes",
      who: ["node", "node-lifecycle", "route", "tagging"],
    },
    {
      what: "writes a node's status: addresses, and one condition",
      matches: ({ resource, subresource }) => resource === "nodes" && subresource === "status",
      who: ["node", "route"],
    },
    {
      what: "writes a Service",
      matches: (right) => isWrite(right) && right.resource === "services",
      who: ["service"],
    },
    {
      what: "touches what deletion remembers",
      matches: ({ resource, cloud }) => resource === "configmaps" && cloud === undefined,
      who: ["node-lifecycle"],
    },
    {
      what: "touches what a cloud keeps in the cluster",
      matches: ({ resource, cloud }) => resource === "configmaps" && cloud !== undefined,
      who: ["service"],
    },
    {
      what: "vouches for the relay",
      matches: (right) => isWrite(right) && right.resource === "leases",
      who: ["relay"],
    },
    { what: "decides on certificates", matches: ({ verb }) => verb === "approve", who: ["csr"] },
    { what: "watches", matches: ({ verb }) => verb === "watch", who: ["relay"] },
  ])("the user that $what", ({ matches, who }) => {
    expect(whoMay(matches)).toEqual(who);
  });

  test("the sweep and the cloud's events write nothing", () => {
    expect([...RIGHTS.sweep, ...RIGHTS["ec2-events"]].filter(isWrite)).toEqual([]);
  });
});

test("identities may read no ConfigMaps and Leases except four, by name", () => {
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

test("a Service is written only through its status, except where kube-vip reads an address from its spec", () => {
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
