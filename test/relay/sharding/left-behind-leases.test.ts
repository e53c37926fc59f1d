import { expect, test } from "vitest";
import { REPLICA_LABEL } from "#core/contracts.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { joinByLease, LONG_SILENT_MS } from "#relay/sharding/lease-membership.ts";
import { createInProcessApi } from "#test/fuzz/in-process-api.ts";
import { buildStatus } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const RENEWED = "2026-01-01T00:00:00.000000Z";

/** Runs a replica next to the Lease of one that was killed, and returns its deletions of that Lease. */
async function clearAway(
  answer: (request: ApiRequest, send: Transport["send"]) => Promise<ApiResponse>,
): Promise<readonly ApiRequest[]> {
  const clock = createManualClock();
  const admin = createInProcessApi(clock).transport(CONTROL_PLANE_USERS.admin);
  const deletions: ApiRequest[] = [];
  const transport: Transport = {
    ...admin,
    send(request) {
      if (request.method !== "DELETE") return admin.send(request);
      deletions.push(request);
      return answer(request, admin.send);
    },
  };
  const labels = { [REPLICA_LABEL]: "relay" };
  const lease = {
    metadata: { name: "killed", labels },
    spec: { holderIdentity: "killed_1", renewTime: RENEWED },
  };
  const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...lease };
  const { status } = await admin.send({ method: "POST", path: LEASES, body });
  expect(status).toBe(201);
  const member = joinByLease({
    ...{ self: "a", identity: "1", namespace: "default", connect: async () => transport },
    ...{ clock, random: () => 0.5, note: () => {} },
  });
  for (let second = 0; second < LONG_SILENT_MS / 1_000 + 60; second += 1) await clock.advance(1_000);
  const all = [...deletions];
  const left = member.leave();
  await clock.advance(5_000);
  await left;
  return all;
}

test("a left-behind Lease is deleted once", async () => {
  const deletions = await clearAway((request, send) => send(request));
  expect(deletions).toMatchObject([{ path: `${LEASES}/killed` }]);
});

test.each([404, 409])("a deletion answered %i is not repeated for ever", async (status) => {
  const deletions = await clearAway(async () => buildStatus(status, "Gone", "no such Lease"));
  expect(deletions).toHaveLength(1);
});

test("a deletion waits no longer than a renewal, on which the others count", async () => {
  const [deletion] = await clearAway((request, send) => send(request));
  expect(deletion?.timeoutMs).toBeLessThanOrEqual(2_000);
});
