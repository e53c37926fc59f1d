import type { Check } from "#cli/doctor/check.ts";
import { readTraces } from "#cli/read-traces.ts";
import { failed, ok, warning } from "#core/finding.ts";
import { findSecondCcms, type SecondCcm, WINDOW_MS } from "#core/second-ccm.ts";

/** Whether another cloud-controller-manager works in the cluster, and on what of ours. */
export const secondCcm: Check = {
  name: "second controller manager",
  needs: ["api-server"],
  async run(context, signal) {
    const read = await readTraces(await context.reached.api("relay"), signal);
    if (read.kind === "failed") return failed(`nodes cannot be listed: ${read.message}`, GRANT);
    const live = findSecondCcms(read.traces, context.now()).filter(({ isLive }) => isLive);
    const unseen =
      read.unread.length === 0 ? "" : ", by what it wrote on nodes; Events or its Lease may not be read";
    const within = `within ${WINDOW_MS / 60_000} minutes`;
    if (live.length === 0) return ok(`none was seen ${within}${unseen}`);
    const { controllers } = context.reached.cluster;
    const words = `${live.map(wordsOf).join("; ")}${unseen}`;
    const both = live.flatMap((ccm) => recent(ccm)).filter((name) => controllers.includes(name));
    if (both.length === 0) return ok(`${words}: none of it is a controller of this cluster's entry`);
    const off = [...new Set(both)].map((name) => `-${name}`).join(",");
    return warning(
      `${words}, as serverless-ccm does`,
      `start it with --controllers=*,${off}, or take them off the cluster's entry here`,
    );
  },
};

const GRANT = "kubectl apply -f infra/rbac/";

function recent({ controllers }: SecondCcm): readonly string[] {
  return controllers.filter(({ isRecent }) => isRecent).map(({ name }) => name);
}

function wordsOf(ccm: SecondCcm): string {
  const names = recent(ccm);
  const what = names.length === 0 ? "is alive" : `runs ${names.join(", ")}`;
  return `${ccm.manager} ${what}, last seen ${ccm.lastSeen}`;
}
