import { styleText } from "node:util";
import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import { connectClusters, type ReachableCluster, type ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { findStopSwitch, type StopSwitchFlags } from "#cli/deletion/stop-switch.ts";
import type { Check, CheckContext, NamedFinding } from "#cli/doctor/check.ts";
import { listChecks, runChecks } from "#cli/doctor/checks.ts";
import { createCheckContext } from "#cli/doctor/context.ts";
import { createLambdaReader } from "#cli/doctor/lambda.ts";
import { formatCounted } from "#cli/format-list.ts";
import { readFallback } from "#cli/relay/fallback.ts";
import { checkFunctionAccess, createFunctionInvoker } from "#cli/relay/function-access.ts";
import {
  type FunctionFlags,
  readFunctionNames,
  readPlatformName,
  readRegion,
} from "#cli/relay/function-names.ts";
import type { Environment } from "#clouds/provider.ts";
import { type CheckResult, reportFailure } from "#core/check-result.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { startAtMost } from "#kube/client/semaphore.ts";
import { loadPlatform } from "#platforms/platforms.ts";

/** The flags of `doctor`. */
export interface DoctorFlags extends ReachFlags, FunctionFlags, StopSwitchFlags {
  readonly region?: string | undefined;
  readonly json?: boolean | undefined;
  /** The flag of a relay of the clusters. */
  readonly fallback?: string | undefined;
}

type Write = (line: string) => void;

/** The number of clusters that are checked at a time. */
const MAX_AT_ONCE = 8;

/**
 * Checks one cluster or all of a file, and prints a line for each check; throws `ChecksFailedError` if one
 * failed.
 */
export async function runDoctor(
  name: string | undefined,
  flags: DoctorFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  const functions = await openFunctions(flags, environment);
  const stopSwitch = findStopSwitch(flags, flags.clustersFile, environment);
  const hasFallback = readFallbackOrThrow(flags.fallback);
  const { clusters, faults } = await connectClusters(name, flags, environment);
  let failures = 0;
  try {
    // Each check has its own time limit.
    const examined = startAtMost(MAX_AT_ONCE, clusters, (reached) =>
      examine(reached, functions, stopSwitch, hasFallback),
    );
    for (const [index, findings] of examined.entries()) {
      const told = await findings;
      failures += told.filter(({ outcome }) => outcome === "failed").length;
      tell(clusters[index]?.cluster.name ?? "", told, clusters.length > 1 || faults.length > 0);
    }
  } finally {
    await Promise.allSettled(clusters.map((reached) => reached.close()));
    await functions.close();
  }
  for (const fault of faults) tell(fault.name, [toEntryFinding(fault)], true);
  failures += faults.length;
  if (failures > 0) throw new ChecksFailedError(`${formatCounted(failures, "check")} failed`);

  function tell(cluster: string, findings: readonly NamedFinding[], isHeaded: boolean): void {
    if (flags.json === true) {
      for (const finding of findings) write(formatJsonLine({ cluster, ...finding }));
      return;
    }
    if (isHeaded) write(`cluster ${cluster}`);
    for (const line of formatFindings(findings)) write(line);
  }
}

async function examine(
  reached: ReachableCluster,
  functions: DeployedFunctions,
  stopSwitch: string | undefined,
  hasFallback: boolean,
) {
  const context = createCheckContext(reached, functions, undefined, stopSwitch);
  try {
    const { controllers } = reached.cluster;
    const isOn = ({ controller }: Check): boolean =>
      controller === undefined || controllers.includes(controller);
    return await runChecks(listChecks(context, hasFallback).filter(isOn), context);
  } finally {
    await context.close();
  }
}

function toEntryFinding({ message }: ConfigurationFault): NamedFinding {
  return { check: "configuration", ...reportFailure(message, "serverless-ccm clusters check") };
}

function readFallbackOrThrow(flag: string | undefined): boolean {
  const faults: ConfigurationFault[] = [];
  const hasFallback = readFallback(flag, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  return hasFallback;
}

/** The deployed functions as checks ask about them. */
interface DeployedFunctions extends Pick<CheckContext, "lambda" | "http"> {
  close(): Promise<void>;
}

async function openFunctions(flags: DoctorFlags, environment: Environment): Promise<DeployedFunctions> {
  const faults: ConfigurationFault[] = [];
  const platform = readPlatformName(flags.platform, faults);
  const isGiven = platform === "http" || (flags.functionPrefix ?? flags.functionArn) !== undefined;
  if (!isGiven && flags.functionUrl === undefined && faults.length === 0)
    return { close: () => Promise.resolve() };
  const functionName = readFunctionNames(flags, faults);
  const loaded = await loadPlatform(platform);
  const region = await readRegion(loaded, flags.region, faults);
  if (platform === "http") await checkFunctionAccess(flags, environment, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (platform === "http") {
    const invoker = createFunctionInvoker({ flags, functionName, platform: loaded, region }, environment);
    return { http: invoker, close: () => invoker.close() };
  }
  const lambda = createLambdaReader(functionName, region);
  return { lambda, close: async () => lambda.close() };
}

/**
 * Formats a line for each finding, and below a problem its remedy. There are no colours if the output is no
 * terminal.
 */
export function formatFindings(findings: readonly NamedFinding[]): readonly string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, outcome, message, remedy }) => {
    const line = `${styleText(COLOURS[outcome], outcome.padEnd(OUTCOME_WIDTH))}${check.padEnd(width)}  ${message}`;
    return remedy === undefined ? [line] : [line, `${" ".repeat(OUTCOME_WIDTH)}→ ${remedy}`];
  });
}

/** `skipped` and `warning` have seven letters. */
const OUTCOME_WIDTH = 9;

const COLOURS = { ok: "green", warning: "yellow", failed: "red", skipped: "gray" } as const satisfies Record<
  CheckResult["outcome"],
  string
>;
