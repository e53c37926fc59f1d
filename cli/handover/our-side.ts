import { namedClustersFile } from "#cli/clusters-file.ts";
import type { ReachFlags } from "#cli/reach-cluster.ts";
import type { Environment } from "#clouds/kind.ts";
import { type Edited, replaceClustersFile, withDryRun } from "#config/edit-clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";

/** What changes on our side, in words, and how it is done; nothing is done where a person has to, or where it is so already. */
export type OurSide =
  | { readonly kind: "file"; readonly plan: string; readonly change: () => Promise<void> }
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
  const file = flags.given.has("--kubeconfig")
    ? undefined
    : namedClustersFile(flags.clustersFile, environment);
  if (file === undefined) return { kind: "by-hand", plan: byHand(dryRun) };
  const edited: Edited = withDryRun(await readClustersText(file), file, clusterName, dryRun);
  switch (edited.kind) {
    case "refused":
      return edited;
    case "same":
      return { kind: "same", plan: `policies.dryRun of ${clusterName} in ${file} is ${dryRun} already` };
    case "edited": {
      const plan = `policies.dryRun of ${clusterName} in ${file}: ${!dryRun} → ${dryRun}. A relay takes it up within seconds; functions that are deployed with a copy of the file refuse to write until it is deployed, too`;
      return { kind: "file", plan, change: () => replaceClustersFile(file, edited) };
    }
  }
}

function byHand(dryRun: boolean): string {
  if (dryRun) return "start `serverless-ccm run` anew with --dry-run, or end it";
  return "start `serverless-ccm run` without --dry-run, with the flags that were given here";
}
