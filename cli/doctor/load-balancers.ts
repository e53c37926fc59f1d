import type { Check } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { getErrorMessage } from "#core/error-message.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { limitLoadBalancers } from "#core/settings.ts";

/** Checks the number of our load balancers against the limit. */
export const loadBalancers: Check = {
  name: "load balancers",
  controller: serviceWatch.name,
  needs: ["api-server"],
  async run({ reached, services }) {
    const listed = await services().catch((error: unknown) => getErrorMessage(error));
    if (typeof listed === "string") return reportFailure(listed, GRANT);
    const max = limitLoadBalancers(reached.cluster.loadBalancers);
    const held = listed.filter(({ standing }) => standing === "holds").length;
    const waiting = listed.length - held;
    const words = `${held} of ${max} that the cluster may have${waiting === 0 ? "" : `, ${waiting} more requested`}`;
    if (held + waiting > max) return reportFailure(words, RAISE);
    return held >= NEARLY * max ? reportWarning(words, RAISE) : reportOk(words);
  },
};

const NEARLY = 0.9;
const GRANT = "kubectl apply -f infra/rbac/service-lb-controller/";
const RAISE =
  "raise loadBalancers.max of the cluster's entry, below the account's own quotas of load balancers; or delete Services";
