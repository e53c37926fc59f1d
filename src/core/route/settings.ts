import * as z from "zod";
import { isIPv6Network } from "#core/cidr.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import {
  type ControllerFlags,
  type DurationRange,
  dropUndefined,
  getText,
  readDuration,
  readSwitch,
} from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** An IPv4 or IPv6 network in CIDR notation. */
const Cidr = z.union([z.cidrv4(), z.cidrv6()], "a network such as 10.128.0.0/14 or fd00:10::/56");

/** The settings of routes to the pods of nodes. */
export const RouteSettings = z
  .strictObject({
    /** `--configure-cloud-routes`. */
    configure: z.boolean().prefault(true),
    /** `--cluster-cidr`: one network, or one of each family; without a network no route is created. */
    clusterCIDRs: z.array(Cidr).max(2).prefault([]),
    /**
     * `--route-reconciliation-period`: the interval between two comparisons of all routes without a change of nodes.
     */
    reconciliationSeconds: z.number().min(10).max(86_400).prefault(10),
  })
  .refine(({ clusterCIDRs }) => new Set(clusterCIDRs.map(isIPv6Network)).size === clusterCIDRs.length, {
    message: "two networks are one of IPv4 and one of IPv6",
    path: ["clusterCIDRs"],
  });
export type RouteSettings = z.output<typeof RouteSettings>;

/** The flags about routes to the pods of nodes. */
export const routeFlags: ControllerFlags = {
  key: "routes",
  flags: [
    {
      option: "--configure-cloud-routes [boolean]",
      help: "whether the route controller makes routes (default: true)",
      sets: "routes.configure",
    },
    {
      option: "--cluster-cidr <list>",
      help: "the pods' networks, with a comma between: one, or one of each family",
      sets: "routes.clusterCIDRs",
    },
    {
      option: "--route-reconciliation-period <duration>",
      help: "between comparisons of all routes (default: 10s)",
      sets: "routes.reconciliationSeconds",
    },
  ],
  read(typed, { faults }) {
    const configure = readSwitch("--configure-cloud-routes", typed["configureCloudRoutes"], faults);
    const period = getText(typed, "routeReconciliationPeriod");
    const reconciliationSeconds = readDuration("--route-reconciliation-period", period, PERIOD, faults);
    const clusterCIDRs = readClusterCIDRs(getText(typed, "clusterCidr"), faults);
    return dropUndefined({ configure, clusterCIDRs, reconciliationSeconds });
  },
};

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
