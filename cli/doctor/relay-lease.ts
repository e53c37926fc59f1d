import * as z from "zod";
import type { Check } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { RELAY_LEASE, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { formatObjectPath, LEASES } from "#core/resources/resource.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";

/** From this age on, the sweep does everything. */
const STALE_MS = 2 * 60_000;

const Lease = z.object({ spec: z.object({ renewTime: z.string().nullish() }).prefault({}) });

/** Checks whether a relay renews the Lease which shows that changes reach the functions. */
export const relayLease: Check = {
  name: "relay",
  needs: ["api-server"],
  async run({ ask, now, reached }, signal) {
    // The relay renews its Lease and does not read it; the sweep does.
    const reader = reached.signInOf("sweep") === undefined ? "relay" : "sweep";
    const path = formatObjectPath(LEASES, { namespace: SYSTEM_NAMESPACE, name: RELAY_LEASE });
    const answer = await ask(reader, { method: "GET", path, signal });
    const said = classifyAnswer(answer);
    const what = `Lease ${SYSTEM_NAMESPACE}/${RELAY_LEASE}`;
    if (said.kind === "gone") return reportFailure(`there is no ${what}`, APPLY_LEASE);
    if (said.kind === "rejected" && said.status === 403)
      return reportSkipped(`${what} may be read by the sweep alone: add signIn.sweep to the cluster's entry`);
    if (said.kind !== "applied") return reportFailure(`${what} cannot be read: ${said.message}`, APPLY_LEASE);
    const lease = Lease.safeParse(parseJson(answer.body)).data;
    if (lease === undefined) return reportFailure(`${what} is not a valid Lease`, APPLY_LEASE);
    const renewed = Date.parse(lease.spec.renewTime ?? "");
    if (Number.isNaN(renewed))
      return reportWarning(`no relay has ever renewed ${what}: the sweep does everything`, START);
    const ageMs = now().getTime() - renewed;
    const words = `${what} was renewed ${Math.max(0, Math.round(ageMs / 1_000))} s ago`;
    return ageMs <= STALE_MS ? reportOk(words) : reportFailure(`${words}: the sweep does everything`, LOOK);
  },
};

const APPLY_LEASE = "kubectl apply -f infra/rbac/ -f infra/state/";
const START = "start `serverless-ccm relay` for the cluster; see its /readyz/clusters/NAME";
const LOOK =
  "see whether the relay runs, what its /readyz/clusters/NAME says, and whether its functions can be invoked";
