import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { type CheckResult, reportFailure, reportOk } from "#core/check-result.ts";

/** A read that proves that the token has a scope, and the related scopes that only a change would prove. */
interface ScopedRead {
  readonly scope: string;
  readonly path: string;
  readonly unseen: readonly string[];
}

/** Reads a path; the fault of a missing answer is transient. */
export type ReadPath = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>;

/**
 * Checks whether the token has the scopes of load balancers and of other configured parts, as far as reads
 * can prove.
 */
export async function diagnoseScopes(
  config: DigitalOceanCloudConfig,
  look: ReadPath,
  signal: AbortSignal,
): Promise<CheckResult> {
  const reads = listScopedReads(config);
  const missing: string[] = [];
  for (const { scope, path } of reads) {
    const outcome = await look(`${path}?per_page=1`, signal);
    if (outcome.kind === "ok") continue;
    const { status, message } = outcome.fault;
    if (status !== 403) return reportFailure(message, RETRY);
    missing.push(scope);
  }
  const unseen = reads.flatMap((read) => read.unseen).join(", ");
  if (missing.length > 0)
    return reportFailure(
      `the token lacks ${missing.join(", ")}`,
      `give the token these scopes, and see that it has ${unseen}, too, which only a change would show`,
    );
  const seen = reads.map(({ scope }) => scope).join(", ");
  return reportOk(`the token has ${seen}; whether it has ${unseen} only a change would show`);
}

function listScopedReads({
  clusterID,
  dropletTag,
  allow,
  publicAccessFirewall,
}: DigitalOceanCloudConfig): readonly ScopedRead[] {
  const isTagged = clusterID !== undefined;
  return [
    {
      scope: "load_balancer:read",
      path: "/v2/load_balancers",
      unseen: ["load_balancer:create", "load_balancer:update", "load_balancer:delete"],
    },
    ...(isTagged || dropletTag !== undefined
      ? [{ scope: "tag:read", path: "/v2/tags", unseen: isTagged ? ["tag:create", "tag:delete"] : [] }]
      : []),
    ...(allow.certificates.length > 0
      ? [{ scope: "certificate:read", path: "/v2/certificates", unseen: [] }]
      : []),
    ...(publicAccessFirewall === undefined
      ? []
      : [{ scope: "firewall:read", path: "/v2/firewalls", unseen: ["firewall:create", "firewall:update"] }]),
  ];
}

const RETRY = "run doctor again; see apiURL, the network, and DigitalOcean's own health";
