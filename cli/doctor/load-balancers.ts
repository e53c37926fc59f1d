import type { Check } from "#cli/doctor/check.ts";
import { failed, ok, warning } from "#core/finding.ts";
import { collectionPath, SERVICES } from "#core/resources/resource.ts";
import { hasFinalizer, isMarked, wantsLoadBalancer } from "#core/service/needs-work.ts";
import { parseService } from "#core/service/snapshot.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/** How many load balancers of ours there are, and how many may be. */
export const loadBalancers: Check = {
  name: "load balancers",
  controller: serviceWatch.name,
  needs: ["api-server"],
  async run({ reached }, signal) {
    const transport = await reached.api("relay");
    const list = await listAll(transport, collectionPath(SERVICES), standingOf, signal, {
      clock: systemClock,
    });
    if (list.kind === "failed") return failed(`Services cannot be listed: ${list.message}`, GRANT);
    const { max } = reached.cluster.loadBalancers;
    const held = list.items.filter((standing) => standing === "holds").length;
    const waiting = list.items.length - held;
    const words = `${held} of ${max} that the cluster may have${waiting === 0 ? "" : `, ${waiting} asked for beside them`}`;
    if (held + waiting > max) return failed(words, RAISE);
    return held >= NEARLY * max ? warning(words, RAISE) : ok(words);
  },
};

const NEARLY = 0.9;
const GRANT = "kubectl apply -f infra/rbac/service-lb-controller/";
const RAISE =
  "raise loadBalancers.max of the cluster's entry, below the account's own quotas of load balancers; or delete Services";

function standingOf(object: unknown): "holds" | "waits" | undefined {
  const parsed = parseService(object);
  if (parsed.kind === "malformed") return undefined;
  const service = parsed.object;
  if (hasFinalizer(service) && isMarked(service)) return "holds";
  return wantsLoadBalancer(service) ? "waits" : undefined;
}
