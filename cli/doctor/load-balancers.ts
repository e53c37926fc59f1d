import type { Check } from "#cli/doctor/check.ts";
import { failed, ok, warning } from "#core/finding.ts";
import { messageOf } from "#core/message-of.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { limitLoadBalancers } from "#core/settings.ts";

/** How many load balancers of ours there are, and how many may be. */
export const loadBalancers: Check = {
  name: "load balancers",
  controller: serviceWatch.name,
  needs: ["api-server"],
  async run({ reached, services }) {
    const listed = await services().catch((error: unknown) => messageOf(error));
    if (typeof listed === "string") return failed(listed, GRANT);
    const max = limitLoadBalancers(reached.cluster.loadBalancers);
    const held = listed.filter(({ standing }) => standing === "holds").length;
    const waiting = listed.length - held;
    const words = `${held} of ${max} that the cluster may have${waiting === 0 ? "" : `, ${waiting} asked for beside them`}`;
    if (held + waiting > max) return failed(words, RAISE);
    return held >= NEARLY * max ? warning(words, RAISE) : ok(words);
  },
};

const NEARLY = 0.9;
const GRANT = "kubectl apply -f infra/rbac/service-lb-controller/";
const RAISE =
  "raise loadBalancers.max of the cluster's entry, below the account's own quotas of load balancers; or delete Services";
