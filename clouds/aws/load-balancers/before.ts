import { refusalOfClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import { kindOf } from "#clouds/aws/load-balancers/kind.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { readNetwork } from "#clouds/aws/load-balancers/network/wanted.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** What can be said of a Service before AWS is asked; undefined where it has to be. */
export function beforeAsking(
  { service, wanted }: LoadBalancerQuestion,
  settings: Settings,
): Extract<LoadBalancerStep, { readonly kind: "refused" | "elsewhere" }> | undefined {
  const kind = kindOf(service);
  if (kind === "elsewhere") return { kind: "elsewhere" };
  if (!wanted) return undefined;
  const problem = faultOfSpec(service);
  if (problem !== undefined) return { kind: "refused", problem };
  if (kind === "classic") {
    const refusal = refusalOfClassic({ service, wanted, nodes: [] }, settings);
    return refusal === undefined ? undefined : { kind: "refused", problem: refusal };
  }
  const read = readNetwork(service, settings);
  return read.kind === "refused" ? read : undefined;
}

/** What neither kind does. */
function faultOfSpec({ metadata, spec }: Service): Problem | undefined {
  if (spec.sessionAffinity !== undefined && spec.sessionAffinity !== "" && spec.sessionAffinity !== "None")
    return {
      code: "SessionAffinity",
      field: "spec.sessionAffinity",
      value: spec.sessionAffinity,
      allowed: "None",
    };
  if (spec.loadBalancerIP)
    return {
      code: "LoadBalancerIP",
      field: "spec.loadBalancerIP",
      value: spec.loadBalancerIP,
      allowed: "nothing",
    };
  if (loadBalancerNameOf(metadata.uid) === undefined)
    return {
      code: "InvalidField",
      field: "metadata.uid",
      value: metadata.uid,
      allowed: "letters, digits and dashes",
    };
  return undefined;
}
