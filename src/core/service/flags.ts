import { type ControllerFlags, dropUndefined, type FlagFault, getText, readSwitch } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { LoadBalancerSettings } from "#core/service/settings.ts";

/** The flags about load balancers of Services. */
export const serviceFlags: ControllerFlags = {
  key: "loadBalancers",
  flags: [
    {
      option: "--delete-orphaned-load-balancers [boolean]",
      help: "whether load balancers without a Service are deleted (default: false)",
      sets: "loadBalancers.deleteOrphaned",
    },
    {
      option: "--load-balancers-max <number>",
      help: "Services of the cluster that get a load balancer (default: 100)",
      sets: "loadBalancers.max",
    },
  ],
  read(typed, { faults }) {
    const orphaned = typed["deleteOrphanedLoadBalancers"];
    const deleteOrphaned = readSwitch("--delete-orphaned-load-balancers", orphaned, faults);
    const max = readMax(getText(typed, "loadBalancersMax"), faults);
    return dropUndefined({ max, deleteOrphaned });
  },
};

function readMax(text: string | undefined, faults: FlagFault[]): number | undefined {
  if (text === undefined) return undefined;
  const max = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (LoadBalancerSettings.safeParse({ max }).success) return max;
  const message = `"${sanitizeText(text)}" cannot be used; give a number from 0 to 5000`;
  faults.push({ name: "--load-balancers-max", message });
  return undefined;
}
