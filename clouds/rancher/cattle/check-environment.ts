import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { Project } from "#clouds/rancher/cattle/resources.ts";

/**
 * Whether the keys may list the hosts of the environment; where Rancher knows of none there, a fault that names the environments that
 * the keys are for. What Rancher 1.x answers to a project that is not there no document says, so it is nobody's fault for sure.
 */
export async function checkEnvironment(cattle: Cattle, turn: Turn): Promise<Outcome<unknown>> {
  const hosts = await cattle.collectionOf("host", turn);
  if (hosts.kind === "ok" || !UNSEEN.has(hosts.fault.status ?? 0)) return hosts;
  const projects = await cattle.list("/v2-beta/projects", {}, Project, turn);
  if (projects.kind === "fault" || projects.value.length === 0) return hosts;
  const known = projects.value.slice(0, 5).map(({ id, name }) => `${id} (${name ?? "without a name"})`);
  const message = `${hosts.fault.message}; see cattle.url: the keys are for ${known.join(", ")}`;
  return { kind: "fault", fault: { ...hosts.fault, message } };
}

const UNSEEN: ReadonlySet<number> = new Set([403, 404]);
