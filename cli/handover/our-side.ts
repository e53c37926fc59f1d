import { namedClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { managementOptions, readHomeSettings } from "#cli/management-cluster.ts";
import { readParameterEntry, replaceParameterEntry } from "#cli/parameter-entries.ts";
import type { ReachFlags } from "#cli/reach-cluster.ts";
import type { Environment } from "#clouds/kind.ts";
import {
  type Edited,
  replaceClustersFile,
  withDryRun,
  withDryRunInEntry,
} from "#config/edit-clusters-file.ts";
import { planDryRunIn } from "#config/home/kubernetes/set-dry-run.ts";
import { pathOfParameters } from "#config/home/ssm/ssm-home.ts";
import { readClustersText } from "#config/read-clusters-file.ts";

/** What changes on our side, in words, and how it is done; nothing is done where a person has to, or where it is so already. */
export type OurSide =
  | { readonly kind: "change"; readonly plan: string; readonly change: () => Promise<void> }
  | { readonly kind: "same"; readonly plan: string }
  | { readonly kind: "by-hand"; readonly plan: string }
  | { readonly kind: "refused"; readonly because: string };

/** Plans our side of a hand-over or hand-back of one cluster: whether it writes is its `policies.dryRun`, or `--dry-run`. */
export async function planOurSide(
  clusterName: string,
  flags: ReachFlags,
  environment: Environment,
  dryRun: boolean,
): Promise<OurSide> {
  const home = flags.given.has("--kubeconfig")
    ? undefined
    : namedClustersFile(flags.clustersFile, environment);
  if (home === undefined) return { kind: "by-hand", plan: byHand(dryRun) };
  const path = pathOfParameters(home);
  if (path !== undefined) return planParameter(path, clusterName, dryRun);
  const faults: ConfigurationFault[] = [];
  const management = managementOptions(home, await readHomeSettings(flags, faults, environment));
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (management === undefined) return planFile(home, clusterName, dryRun);
  const planned = await planDryRunIn(management, clusterName, dryRun);
  if (planned.kind === "refused") return planned;
  if (planned.kind === "same") return same(clusterName, planned.place, dryRun);
  return changing(clusterName, { place: planned.place, takenUp: OF_OBJECTS }, dryRun, planned.write);
}

async function planFile(file: string, clusterName: string, dryRun: boolean): Promise<OurSide> {
  const edit = async (): Promise<Edited> =>
    withDryRun(await readClustersText(file), file, clusterName, dryRun);
  const edited = await edit();
  if (edited.kind === "refused") return edited;
  if (edited.kind === "same") return same(clusterName, file, dryRun);
  return changing(clusterName, { place: file, takenUp: OF_FILE }, dryRun, () =>
    oneAfterTheOther(async () => {
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
  if (edited.kind === "same") return same(clusterName, entry.document, dryRun);
  return changing(clusterName, { place: entry.document, takenUp: OF_PARAMETERS }, dryRun, () =>
    replaceParameterEntry(path, clusterName, edited),
  );
}

function same(clusterName: string, place: string, dryRun: boolean): OurSide {
  return { kind: "same", plan: `policies.dryRun of ${clusterName} in ${place} is ${dryRun} already` };
}

function changing(
  clusterName: string,
  { place, takenUp }: { readonly place: string; readonly takenUp: string },
  dryRun: boolean,
  change: () => Promise<void>,
): OurSide {
  const plan = `policies.dryRun of ${clusterName} in ${place}: ${!dryRun} → ${dryRun}. ${takenUp}`;
  return { kind: "change", plan, change };
}

/** When the change counts, by home. */
const OF_FILE =
  "A relay takes it up within seconds; functions that are deployed with a copy of the file refuse to write until it is deployed, too";
const OF_PARAMETERS = "Relay and functions take it up within two minutes";
const OF_OBJECTS = "A relay takes it up within seconds";

let last: Promise<void> = Promise.resolve();

/** Changes of one process to files follow one another: each begins with what the one before has written. */
function oneAfterTheOther(change: () => Promise<void>): Promise<void> {
  const changed = last.then(change);
  last = changed.catch(() => undefined);
  return changed;
}

function byHand(dryRun: boolean): string {
  if (dryRun) return "start `serverless-ccm run` anew with --dry-run, or end it";
  return "start `serverless-ccm run` without --dry-run, with the flags that were given here";
}
