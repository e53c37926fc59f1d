import type { Check } from "#cli/doctor/check.ts";
import { openAnySwitch } from "#cli/stop-switch.ts";
import { stopIn } from "#config/switch/stops.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { getErrorMessage } from "#core/error-message.ts";

/**
 * Returns a note about the quota of a switch in SSM, which many clusters share with the rest of the account.
 */
function formatQuotaNote(reference: string): string {
  return reference.startsWith("ssm:")
    ? "; read from SSM, whose default quota is 40 requests a second for the account and region: docs/how-to/many-clusters.md"
    : "";
}

/** Checks what operators have stopped of the cluster, and whether that is readable. */
export const stopSwitchCheck: Check = {
  name: "stopped",
  async run({ reached: { cluster }, stopSwitch: reference }, signal) {
    if (reference === undefined) return reportSkipped("no cluster registry is named, and so no switch");
    const stopSwitch = await openAnySwitch(reference, process.env);
    try {
      const stop = stopIn(await stopSwitch.read(signal), cluster.name);
      if (stop === undefined) return reportOk(`nothing is stopped${formatQuotaNote(reference)}`);
      return reportWarning(
        `an operator has stopped ${stop}`,
        `serverless-ccm stop (shows by whom); to resume: serverless-ccm stop --resume --${stop} --all or --cluster ${cluster.name}`,
      );
    } catch (error) {
      return reportFailure(
        `${getErrorMessage(error)}; deletions that are not proven by themselves wait`,
        "docs/how-to/stop-it.md#when-the-switch-cannot-be-read",
      );
    }
  },
};
