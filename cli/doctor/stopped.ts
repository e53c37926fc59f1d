import type { Check } from "#cli/doctor/check.ts";
import { openAnySwitch } from "#cli/stop-switch.ts";
import { stopIn } from "#config/switch/stops.ts";
import { failed, ok, skipped, warning } from "#core/finding.ts";
import { messageOf } from "#core/message-of.ts";

/** What a switch in SSM is read by, as many clusters share it with the rest of the account. */
function quotaOf(reference: string): string {
  return reference.startsWith("ssm:")
    ? "; read from SSM, whose default quota is 40 requests a second for the account and region: docs/how-to/many-clusters.md"
    : "";
}

/** What operators have stopped of the cluster, and whether anybody can tell. */
export const stopped: Check = {
  name: "stopped",
  async run({ reached: { cluster }, stopSwitch: reference }, signal) {
    if (reference === undefined) return skipped("there are no clusters beside which a switch would stand");
    const stopSwitch = await openAnySwitch(reference, process.env);
    try {
      const stop = stopIn(await stopSwitch.read(signal), cluster.name);
      if (stop === undefined) return ok(`nothing is stopped${quotaOf(reference)}`);
      return warning(
        `an operator has stopped ${stop}`,
        `serverless-ccm stop (says by whom), and once it may go on: serverless-ccm stop --resume --${stop} --all or --cluster ${cluster.name}`,
      );
    } catch (error) {
      return failed(
        `${messageOf(error)}; deletions that are not proven by themselves wait`,
        "docs/how-to/stop-it.md#when-the-switch-cannot-be-read",
      );
    }
  },
};
