import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { Observed } from "#clouds/keepalived/load-balancers/model.ts";

/** Describes a Service's entry in the ConfigMap for people. */
export function describeEntry(state: unknown): DescribedLoadBalancer {
  const found = Observed.parse(state);
  if (found.kind !== "ledger") return { belongsTo: "none", lines: [found.message] };
  const { own, isShown, holder } = found;
  const taken = holder === null ? [] : [`the requested address belongs to Service ${holder}`];
  if (own === null) return { belongsTo: "none", lines: taken };
  const method = own.forwardMethod ? `, ${own.forwardMethod}` : "";
  const untold = isShown ? [] : ["keepalived does not get it: the data of the ConfigMap differs"];
  return { belongsTo: "service", lines: [`address ${own.ip}${method}`, ...untold, ...taken] };
}
