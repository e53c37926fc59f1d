import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { dropUndefined, readSwitch } from "#cli/node-flags.ts";
import { type DurationRange, readDuration } from "#cli/read-duration.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { RouteSettings } from "#core/settings.ts";

/** The flags about routes, as typed; a switch without a value is `true`. */
export interface RouteFlags {
  readonly configureCloudRoutes?: string | true | undefined;
  readonly clusterCidr?: string | undefined;
  readonly routeReconciliationPeriod?: string | undefined;
}

/** A cluster's `routes:` as a clusters file with the same settings has it. */
export type WrittenRoutes = NonNullable<ClusterEntry["routes"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readRouteFlags(flags: RouteFlags, faults: ConfigurationFault[]): WrittenRoutes | undefined {
  const configure = readSwitch("--configure-cloud-routes", flags.configureCloudRoutes, faults);
  const reconciliationSeconds = readDuration(
    "--route-reconciliation-period",
    flags.routeReconciliationPeriod,
    PERIOD,
    faults,
  );
  const clusterCIDRs = readClusterCIDRs(flags.clusterCidr, faults);
  return dropUndefined({ configure, clusterCIDRs, reconciliationSeconds });
}

const PERIOD: DurationRange = { from: 10, to: 86_400, words: "10s to 24h", examples: "10s, 10m or 1h" };

/** Reads a list in the stock controller's format: one network, or one of each family. */
function readClusterCIDRs(text: string | undefined, faults: ConfigurationFault[]): string[] | undefined {
  if (text === undefined) return undefined;
  const clusterCIDRs = text.trim().split(",");
  const parsed = RouteSettings.safeParse({ clusterCIDRs });
  if (parsed.success) return clusterCIDRs;
  const message = `"${sanitizeText(text)}" cannot be used; give one network such as 10.128.0.0/14, or one of IPv4 and one of IPv6 with a comma between`;
  faults.push({ name: "--cluster-cidr", message });
  return undefined;
}
