import { describe, expect, it } from "vitest";
import { buildClusterEvent } from "#core/cluster-events.ts";
import { getNameFact } from "#core/tenant-fact.ts";
import { formatEventName, type ObjectEvent } from "#kube/apply/record-events.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const SAID: ObjectEvent = {
  object: {
    apiVersion: "v1",
    kind: "Node",
    name: "ip-10-0-0-1.ec2.internal",
    uid: "5f0c2b5e-2d44-4f0e-9c8e-3a52c8d4a001",
  },
  event: buildClusterEvent("ServingCertificate", "InstanceNotFound", {
    request: getNameFact({ metadata: { name: "csr-1" } }),
  }),
};

describe("the name of an Event", () => {
  it.each([
    {
      given: "another fact",
      said: { ...SAID, event: { ...SAID.event, facts: {} } },
      now: NOW,
    },
    { given: "nine minutes later", said: SAID, now: new Date("2026-03-01T12:09:59Z") },
  ])("is equal for $given", ({ said, now }) => {
    expect(formatEventName(said, now)).toBe(formatEventName(SAID, NOW));
  });

  it("is equal for any code, if one Event per reason suffices", () => {
    const [one, other] = (["InstanceNotFound", "Ambiguous"] as const).map((code) => ({
      ...SAID,
      event: buildClusterEvent("CloudInitializationFailed", code, {}),
    }));
    expect(formatEventName(one ?? SAID, NOW)).toBe(formatEventName(other ?? SAID, NOW));
  });

  it.each([
    { given: "another uid", said: { ...SAID, object: { ...SAID.object, uid: "other" } }, now: NOW },
    {
      given: "another reason",
      said: { ...SAID, event: buildClusterEvent("CloudInitializationFailed", "InstanceNotFound", {}) },
      now: NOW,
    },
    { given: "another code", said: { ...SAID, event: { ...SAID.event, code: "NoNames" } }, now: NOW },
    { given: "the next ten minutes", said: SAID, now: new Date("2026-03-01T12:10:00Z") },
  ])("is another one for $given", ({ said, now }) => {
    expect(formatEventName(said, now)).not.toBe(formatEventName(SAID, NOW));
  });

  it("is one of 1,000 in ten minutes on CertificateSigningRequests, for any names, uids and codes", () => {
    const names = (codes: readonly ("NoNames" | "URIForbidden")[], now: Date) =>
      Array.from({ length: 20_000 }, (_, index) => {
        const name = `csr-${index}`;
        const object = {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          name,
          uid: name,
        };
        const code = codes[index % codes.length] ?? "NoNames";
        return formatEventName(
          {
            object,
            event: buildClusterEvent("ServingCertificate", code, {
              request: getNameFact({ metadata: { name } }),
            }),
          },
          now,
        );
      });
    expect(new Set(names(["NoNames", "URIForbidden"], NOW)).size).toBe(1_000);
    expect(names(["NoNames"], NOW).slice(0, 5)).toEqual(names(["NoNames"], NOW).slice(0, 5));
    expect(new Set(names(["NoNames"], NOW).slice(0, 5)).size).toBe(5);
    const later = new Date(NOW.getTime() + 600_000);
    expect(names(["NoNames"], later)[0]).not.toBe(names(["NoNames"], NOW)[0]);
  });

  it.each([
    { given: "a usual name", name: "ip-10-0-0-1.ec2.internal" },
    { given: "the longest name", name: "n".repeat(253) },
    { given: "a name whose cut ends in a dot", name: `${"n".repeat(235)}.${"m".repeat(17)}` },
  ])("is a DNS subdomain for $given", ({ name }) => {
    const made = formatEventName({ ...SAID, object: { ...SAID.object, name } }, NOW);
    expect(made).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    expect(made.length).toBeLessThanOrEqual(253);
  });
});
