import { describe, expect, test } from "vitest";
import { FUNCTION_IDENTITIES, IDENTITIES, userOf } from "#core/identities.ts";
import { RIGHTS, type Right } from "#core/rights.ts";
import { WATCHES } from "#core/watches.ts";

const READS = ["get", "list", "watch"];
const isWrite = ({ verb }: Right): boolean => !READS.includes(verb);
const whoMay = (matches: (right: Right) => boolean): readonly string[] =>
  IDENTITIES.filter((identity) => RIGHTS[identity].some(matches));

describe("what may delete is not what initializes:", () => {
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
      what: "writes a Service, by its status alone",
      matches: (right) => isWrite(right) && right.resource === "services",
      who: ["service"],
    },
    {
      what: "touches what deletion remembers",
      matches: ({ resource }) => resource === "configmaps",
      who: ["node-lifecycle"],
    },
    {
      what: "vouches for the relay",
      matches: (right) => isWrite(right) && right.resource === "leases",
      who: ["relay"],
    },
    { what: "decides on certificates", matches: ({ verb }) => verb === "approve", who: ["csr"] },
    { what: "watches", matches: ({ verb }) => verb === "watch", who: ["relay"] },
  ])("who $what", ({ matches, who }) => {
    expect(whoMay(matches)).toEqual(who);
  });

  test("the sweep and the cloud's events write nothing", () => {
    expect([...RIGHTS.sweep, ...RIGHTS["ec2-events"]].filter(isWrite)).toEqual([]);
  });
});

test("of ConfigMaps and Leases there is one each that anybody may see", () => {
  const seen = Object.values(RIGHTS).flat();
  const named = seen.filter(({ resource }) => ["configmaps", "leases"].includes(resource));
  expect(new Set(named.map(({ namespace, name }) => `${namespace}/${name}`))).toEqual(
    new Set(["kube-system/serverless-ccm", "kube-system/serverless-ccm-relay"]),
  );
});

test("no right is listed twice", () => {
  for (const rights of Object.values(RIGHTS)) {
    const listed = rights.map((right) => JSON.stringify(Object.entries(right).sort()));
    expect(new Set(listed).size).toBe(listed.length);
  }
});

test("every controller's function is a user of its own", () => {
  expect(FUNCTION_IDENTITIES).toEqual(
    expect.arrayContaining(WATCHES.map(({ functionName }) => functionName)),
  );
  expect(userOf("node-lifecycle")).toBe("serverless-ccm-node-lifecycle");
});
