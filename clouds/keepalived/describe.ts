import type { DescribedLoadBalancer } from "#clouds/described.ts";
import { Observed } from "#clouds/keepalived/model.ts";

/** What the ConfigMap says of a Service, in words. */
export function describeEntry(state: unknown): DescribedLoadBalancer {
  const found = Observed.parse(state);
  if (found.kind !== "ledger") return { belongsTo: "none", lines: [found.message] };
  const { own, isShown, holder } = found;
  const taken = holder === null ? [] : [`the address that is asked for is that of Service ${holder}`];
  if (own === null) return { belongsTo: "none", lines: taken };
  const method = own.forwardMethod ? `, ${own.forwardMethod}` : "";
  const untold = isShown
    ? []
    : ["keepalived is not told of it: the data of the ConfigMap says something else"];
  return { belongsTo: "service", lines: [`address ${own.ip}${method}`, ...untold, ...taken] };
}
