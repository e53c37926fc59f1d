import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildRenewal } from "#core/relay-lease.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { add, getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = "serverless-ccm-relay";
const { precondition, patch } = buildRenewal(new Date("2030-01-01T00:00:00Z"));

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

  it("can be renewed", async () => {
    expect(getRefusal(await write([...precondition, ...patch]))).toEqual([200, ""]);
  });

  it.each([
    {
      what: "held by another client",
      patch: [add("/spec/holderIdentity", "x")],
      says: "spec.holderIdentity",
    },
    {
      what: "made to last",
      patch: [add("/spec/leaseDurationSeconds", 9)],
      says: "spec.leaseDurationSeconds",
    },
    { what: "labelled", patch: [add("/metadata/labels/a", "b")], says: "spec.renewTime: labels" },
    { what: "annotated", patch: [add("/metadata/annotations", { a: "b" })], says: "annotations" },
  ])("is never $what", async ({ patch, says }) => {
    expect(getRefusal(await write(patch))).toEqual([422, expect.stringContaining(says)]);
  });

  it("is the relay's only write, and the relay neither creates nor deletes one", async () => {
    const says = [422, expect.stringContaining("no Lease but kube-system/serverless-ccm-relay")];
    expect(getRefusal(await write([add("/spec", { holderIdentity: "x" })], under, "other"))).toEqual(says);
    expect(getRefusal(await under.send("relay", { method: "DELETE", path: `${LEASES}/${LEASE}` }))).toEqual(
      says,
    );
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "new" } };
    expect(getRefusal(await under.send("relay", { method: "POST", path: LEASES, body }))).toEqual(says);
  });

  function write(body: readonly unknown[], by = under, name = LEASE): Promise<ApiResponse> {
    const path = `${LEASES}/${name}`;
    return by.send("relay", { method: "PATCH", path, body, contentType: "application/json-patch+json" });
  }
});
