import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { type CheckResult, reportFailure, reportOk } from "#core/check-result.ts";

/** A read that proves that the token has a scope, and the related scopes that only a change would prove. */
interface ScopedRead {
  readonly scope: string;
  readonly path: string;
  readonly unproven: readonly string[];
}

/** Reads a path; the fault of a missing answer is transient. */
export type ReadPath = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>;

/**
 * Checks whether the token has the scopes of load balancers and of other configured parts, as far as reads
 * can prove.
 */
export async function diagnoseScopes(
  config: DigitalOceanCloudConfig,
  readPath: ReadPath,
  signal: AbortSignal,
): Promise<CheckResult> {
  const reads = listScopedReads(config);
  const missing: string[] = [];
  for (const { scope, path } of reads) {
    const outcome = await readPath(`${path}?per_page=1`, signal);
    if (outcome.kind === "ok") continue;
    const { status, message } = outcome.fault;
    if (status !== 403) return reportFailure(message, RETRY_LATER);
    missing.push(scope);
  }
  const unproven = reads.flatMap((read) => read.unproven).join(", ");
  if (missing.length > 0)
    return reportFailure(
      `the token lacks ${missing.join(", ")}`,
      `give the token these scopes, and check that it has ${unproven} too, which reads cannot prove`,
    );
  const proven = reads.map(({ scope }) => scope).join(", ");
  return reportOk(`the token has ${proven}; reads cannot prove ${unproven}`);
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
      unproven: ["load_balancer:create", "load_balancer:update", "load_balancer:delete"],
    },
    ...(isTagged || dropletTag !== undefined
      ? [{ scope: "tag:read", path: "/v2/tags", unproven: isTagged ? ["tag:create", "tag:delete"] : [] }]
      : []),
    ...(allow.certificates.length > 0
      ? [{ scope: "certificate:read", path: "/v2/certificates", unproven: [] }]
      : []),
    ...(publicAccessFirewall === undefined
      ? []
      : [
          { scope: "firewall:read", path: "/v2/firewalls", unproven: ["firewall:create", "firewall:update"] },
        ]),
  ];
}

const RETRY_LATER = "run doctor again; see apiURL, the network, and DigitalOcean's own health";
