import type { ConfigurationFault } from "#core/config-errors.ts";
import { type DurationRange, readDuration } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { parseAllowedHosts } from "#relay/served-hosts.ts";

/** The flags of a process that serves clusters, as typed. */
export interface ServingFlags {
  readonly nodeStatusUpdateFrequency: string;
  readonly bindAddress: string;
  /** The earlier name of `--bind-address`, used if that is missing. */
  readonly address?: string | undefined;
  readonly port: string;
  readonly allowedHosts?: string | undefined;
  readonly quotaPercent: string;
  readonly metricsDetail?: string | undefined;
  /** The flags on the command line, without defaults. */
  readonly given: ReadonlySet<string>;
}

/** How a process serves and limits itself, whatever its clusters. */
export interface ServingSettings {
  readonly nodeStatusUpdateFrequencySeconds: number;
  readonly bindAddress: string;
  readonly port: number;
  /** DNS names that the endpoints accept in addition to the built-in ones. */
  readonly allowedHosts: readonly string[];
  /** The part of each cloud account's quotas that this process divides among its invocations, 0 to 1. */
  readonly quotaPart: number;
  /** The prefix of the deployed functions' names; undefined if none are invoked, or one by its ARN. */
  readonly functionPrefix?: string | undefined;
  readonly metricsDetail: MetricsDetail;
}

/** Whether metrics are per cluster, or summed over clusters except those that alerts read. */
export type MetricsDetail = "cluster" | "fleet";

/** Reads the serving settings; every fault goes to `faults`. */
export function readServingSettings(flags: ServingFlags, faults: ConfigurationFault[]): ServingSettings {
  return {
    nodeStatusUpdateFrequencySeconds:
      readDuration(
        "--node-status-update-frequency",
        flags.nodeStatusUpdateFrequency,
        STATUS_UPDATE,
        faults,
      ) ?? Number.NaN,
    bindAddress: flags.given.has("--bind-address") ? flags.bindAddress : (flags.address ?? flags.bindAddress),
    port: readPort(flags.port, faults),
    allowedHosts: readAllowedHosts(flags.allowedHosts, faults),
    quotaPart: readQuotaPercent(flags.quotaPercent, faults) / 100,
    metricsDetail: readMetricsDetail(flags.metricsDetail, faults),
  };
}

function readMetricsDetail(text: string | undefined, faults: ConfigurationFault[]): MetricsDetail {
  if (text === undefined || text === "cluster" || text === "fleet") return text ?? "cluster";
  faults.push({
    name: "--metrics-detail",
    message: `"${sanitizeText(text)}" is neither; give cluster or fleet`,
  });
  return "cluster";
}

const STATUS_UPDATE: DurationRange = {
  from: 1,
  to: Number.POSITIVE_INFINITY,
  words: "at least 1s",
  examples: "5m0s, 90s or 1h",
};

/** Reads a port; 0 picks a free one. */
export function readPort(text: string, faults: ConfigurationFault[]): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  faults.push({ name: "--port", message: `"${text}" is not a port; give 0 (any free one) to 65535` });
  return Number.NaN;
}

function readAllowedHosts(text: string | undefined, faults: ConfigurationFault[]): readonly string[] {
  const parsed = parseAllowedHosts(text ?? "");
  if (parsed.kind === "hosts") return parsed.hosts;
  faults.push(...parsed.faults.map((message) => ({ name: "--allowed-hosts", message })));
  return [];
}

function readQuotaPercent(text: string, faults: ConfigurationFault[]): number {
  const percent = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (percent >= 1 && percent <= 100) return percent;
  faults.push({ name: "--quota-percent", message: `"${text}" is not a part of the quotas; give 1 to 100` });
  return Number.NaN;
}
