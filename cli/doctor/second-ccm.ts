import type { Check } from "#cli/doctor/check.ts";
import { readTraces } from "#cli/read-traces.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { findSecondCcms, type SecondCcm, WINDOW_MS } from "#core/second-ccm.ts";

/** Checks whether another cloud-controller-manager works in the cluster, and on which of our objects. */
export const secondCcm: Check = {
  name: "second controller manager",
  needs: ["api-server"],
  async run(context, signal) {
    const read = await readTraces(await context.reached.api("relay"), signal);
    if (read.kind === "failed") return reportFailure(`nodes cannot be listed: ${read.message}`, GRANT);
    const live = findSecondCcms(read.traces, context.now()).filter(({ isLive }) => isLive);
    const unseen =
      read.unread.length === 0 ? "" : ", by what it wrote on nodes; Events or its Lease may not be read";
    const within = `within ${WINDOW_MS / 60_000} minutes`;
    if (live.length === 0) return reportOk(`none was seen ${within}${unseen}`);
    const { controllers } = context.reached.cluster;
    const words = `${live.map(formatSecondCcm).join("; ")}${unseen}`;
    const both = live.flatMap((ccm) => listRecent(ccm)).filter((name) => controllers.includes(name));
    if (both.length === 0) return reportOk(`${words}: no controller of this cluster's entry is affected`);
    const off = [...new Set(both)].map((name) => `-${name}`).join(",");
    return reportWarning(
      `${words}, as serverless-ccm does`,
      `start it with --controllers=*,${off}, or take them off the cluster's entry here`,
    );
  },
};

const GRANT = "kubectl apply -f infra/rbac/";

function listRecent({ controllers }: SecondCcm): readonly string[] {
  return controllers.filter(({ isRecent }) => isRecent).map(({ name }) => name);
}

function formatSecondCcm(ccm: SecondCcm): string {
  const names = listRecent(ccm);
  const what = names.length === 0 ? "is alive" : `runs ${names.join(", ")}`;
  return `${ccm.manager} ${what}, last seen ${ccm.lastSeen}`;
}
