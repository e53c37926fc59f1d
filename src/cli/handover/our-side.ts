import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import { parseManagementOptions, readRegistrySettings } from "#cli/clusters/management-cluster.ts";
import { readParameterEntry, replaceParameterEntry } from "#cli/clusters/parameter-entries.ts";
import type { ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/provider.ts";
import {
  type EditResult,
  replaceClustersFile,
  withDryRun,
  withDryRunInEntry,
} from "#config/edit-clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";
import { planDryRunIn } from "#config/registry/kubernetes/set-dry-run.ts";
import { parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

/**
 * The change on our side, in words, and how to make it. It does nothing if a person must act, or if the
 * change is already made.
 */
export type OurSide =
  | { readonly kind: "change"; readonly plan: string; readonly change: () => Promise<void> }
  | { readonly kind: "same"; readonly plan: string }
  | { readonly kind: "by-hand"; readonly plan: string }
  | { readonly kind: "refused"; readonly because: string };

/**
 * Plans our side of a hand-over or hand-back of one cluster. The cluster's `policies.applyDryRun`, or
 * `--dry-run`, decides whether it writes.
 */
export async function planOurSide(
  clusterName: string,
  flags: ReachFlags,
  environment: Environment,
  dryRun: boolean,
): Promise<OurSide> {
  const registry = flags.given.has("--kubeconfig")
    ? undefined
    : findClustersFile(flags.clustersFile, environment);
  if (registry === undefined) return { kind: "by-hand", plan: formatManualSteps(dryRun) };
  const path = parseSsmPath(registry);
  if (path !== undefined) return planParameter(path, clusterName, dryRun);
  const faults: ConfigurationFault[] = [];
  const management = parseManagementOptions(registry, await readRegistrySettings(flags, faults, environment));
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (management === undefined) return planFile(registry, clusterName, dryRun);
  const planned = await planDryRunIn(management, clusterName, dryRun);
  if (planned.kind === "refused") return planned;
  if (planned.kind === "same") return keepSide(clusterName, planned.place, dryRun);
  return changeSide(clusterName, { place: planned.place, takenUp: OF_OBJECTS }, dryRun, planned.write);
}

async function planFile(file: string, clusterName: string, dryRun: boolean): Promise<OurSide> {
  const edit = async (): Promise<EditResult> =>
    withDryRun(await readClustersText(file), file, clusterName, dryRun);
  const edited = await edit();
  if (edited.kind === "refused") return edited;
  if (edited.kind === "same") return keepSide(clusterName, file, dryRun);
  return changeSide(clusterName, { place: file, takenUp: OF_FILE }, dryRun, () =>
    runInOrder(async () => {
      // Other clusters of the file may have been handed over since.
      const now = await edit();
      if (now.kind === "refused") throw new Error(now.because);
      if (now.kind === "edited") await replaceClustersFile(file, now);
    }),
  );
}

async function planParameter(path: string, clusterName: string, dryRun: boolean): Promise<OurSide> {
  const entry = await readParameterEntry(path, clusterName);
  if (entry === undefined) return { kind: "refused", because: `ssm:${path} has no cluster ${clusterName}` };
  const edited = withDryRunInEntry(entry.parameter.value, entry.document, clusterName, dryRun);
  if (edited.kind === "refused") return edited;
  if (edited.kind === "same") return keepSide(clusterName, entry.document, dryRun);
  return changeSide(clusterName, { place: entry.document, takenUp: OF_PARAMETERS }, dryRun, () =>
    replaceParameterEntry(path, clusterName, edited),
  );
}

function keepSide(clusterName: string, place: string, dryRun: boolean): OurSide {
  return { kind: "same", plan: `policies.dryRun of ${clusterName} in ${place} is ${dryRun} already` };
}

function changeSide(
  clusterName: string,
  { place, takenUp }: { readonly place: string; readonly takenUp: string },
  dryRun: boolean,
  change: () => Promise<void>,
): OurSide {
  const plan = `policies.dryRun of ${clusterName} in ${place}: ${!dryRun} → ${dryRun}. ${takenUp}`;
  return { kind: "change", plan, change };
}

/** When the change takes effect, by kind of registry. */
const OF_FILE =
  "A relay takes it up within seconds; functions that are deployed with a copy of the file refuse to write until it is deployed, too";
const OF_PARAMETERS = "Relay and functions take it up within two minutes";
const OF_OBJECTS = "A relay takes it up within seconds";

let last: Promise<void> = Promise.resolve();

/**
 * Runs the changes of one process to files one after another, so that each starts from the previous result.
 */
function runInOrder(change: () => Promise<void>): Promise<void> {
  const changed = last.then(change);
  last = changed.catch(() => undefined);
  return changed;
}

function formatManualSteps(dryRun: boolean): string {
  if (dryRun) return "restart `serverless-ccm run` with --dry-run, or end it";
  return "start `serverless-ccm run` without --dry-run, with the flags that were given here";
}
