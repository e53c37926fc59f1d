import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { renewalOf } from "#core/relay-lease.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { add, type PolicyUnderTest, saidBy, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = "serverless-ccm-relay";
const { precondition, patch } = renewalOf(new Date("2030-01-01T00:00:00Z"));

describeWithPart("control-plane", "infra/admission/relay.yaml: the Lease of the relay", (binaries) => {
  let under: PolicyUnderTest;

  beforeAll(async () => {
    const manifests = ["all-powerful.yaml", "../../infra/state"].map((path) =>
      fileURLToPath(new URL(path, import.meta.url)),
    );
    let count = 0;
    const probe = () => [add("/metadata/labels/probe", String(++count))];
    under = await startPolicy(binaries, ["relay.yaml"], (starting) => write(probe(), starting), {
      manifests,
    });
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "other" } };
    expect((await under.send("admin", { method: "POST", path: LEASES, body })).status).toBe(201);
  });
  afterAll(() => under?.close());

  it("is renewed", async () => {
    expect(saidBy(await write([...precondition, ...patch]))).toEqual([200, ""]);
  });

  it.each([
    { what: "held by somebody else", patch: [add("/spec/holderIdentity", "x")], says: "spec.holderIdentity" },
    {
      what: "made to last",
      patch: [add("/spec/leaseDurationSeconds", 9)],
      says: "spec.leaseDurationSeconds",
    },
    { what: "labelled", patch: [add("/metadata/labels/a", "b")], says: "spec.renewTime: labels" },
    { what: "annotated", patch: [add("/metadata/annotations", { a: "b" })], says: "annotations" },
  ])("is never $what", async ({ patch, says }) => {
    expect(saidBy(await write(patch))).toEqual([422, expect.stringContaining(says)]);
  });

  it("is the only one that the relay writes, and it neither makes nor deletes one", async () => {
    const says = [422, expect.stringContaining("no Lease but kube-system/serverless-ccm-relay")];
    expect(saidBy(await write([add("/spec", { holderIdentity: "x" })], under, "other"))).toEqual(says);
    expect(saidBy(await under.send("relay", { method: "DELETE", path: `${LEASES}/${LEASE}` }))).toEqual(says);
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "new" } };
    expect(saidBy(await under.send("relay", { method: "POST", path: LEASES, body }))).toEqual(says);
  });

  function write(body: readonly unknown[], by = under, name = LEASE): Promise<ApiResponse> {
    const path = `${LEASES}/${name}`;
    return by.send("relay", { method: "PATCH", path, body, contentType: "application/json-patch+json" });
  }
});
