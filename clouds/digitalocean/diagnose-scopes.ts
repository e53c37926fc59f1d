import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { type Finding, failed, ok } from "#core/finding.ts";

/** A read that shows that the token has a scope, and the scopes beside it that only a change would show. */
interface ScopedRead {
  readonly scope: string;
  readonly path: string;
  readonly unseen: readonly string[];
}

/** Asks for a path; the fault of an answer that never came is transient. */
export type Look = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>;

/** Whether the token has the scopes of load balancers and of what is configured beside them, as far as reading shows. */
export async function diagnoseScopes(
  config: DigitalOceanCloudConfig,
  look: Look,
  signal: AbortSignal,
): Promise<Finding> {
  const reads = readsOf(config);
  const missing: string[] = [];
  for (const { scope, path } of reads) {
    const outcome = await look(`${path}?per_page=1`, signal);
    if (outcome.kind === "ok") continue;
    const { status, message } = outcome.fault;
    if (status !== 403) return failed(message, RETRY);
    missing.push(scope);
  }
  const unseen = reads.flatMap((read) => read.unseen).join(", ");
  if (missing.length > 0)
    return failed(
      `the token lacks ${missing.join(", ")}`,
      `give the token these scopes, and see that it has ${unseen}, too, which only a change would show`,
    );
  const seen = reads.map(({ scope }) => scope).join(", ");
  return ok(`the token has ${seen}; whether it has ${unseen} only a change would show`);
}

function readsOf({
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
