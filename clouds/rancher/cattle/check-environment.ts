import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { Project } from "#clouds/rancher/cattle/resources.ts";

/**
 * Checks whether the keys may list the environment's hosts. If Rancher has none there, the fault names the
 * environments of the keys. Rancher 1.x does not document its answer for a missing project, so the fault
 * names no key.
 */
export async function checkEnvironment(cattle: Cattle, callContext: CallContext): Promise<Outcome<unknown>> {
  const hosts = await cattle.readCollectionLink("host", callContext);
  if (hosts.kind === "ok" || !NOT_VISIBLE.has(hosts.fault.status ?? 0)) return hosts;
  const projects = await cattle.list("/v2-beta/projects", {}, Project, callContext);
  if (projects.kind === "fault" || projects.value.length === 0) return hosts;
  const environments = projects.value
    .slice(0, 5)
    .map(({ id, name }) => `${id} (${name ?? "without a name"})`);
  const message = `${hosts.fault.message}; see cattle.url: the keys are for ${environments.join(", ")}`;
  return { kind: "fault", fault: { ...hosts.fault, message } };
}

const NOT_VISIBLE: ReadonlySet<number> = new Set([403, 404]);
