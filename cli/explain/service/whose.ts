import { type Mark, markOf } from "#core/service/mark.ts";
import { type ClassSettings, hasFinalizer, isOfOurClass } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";

/** Whose a Service's load balancer is by what stands on the Service, and by whether the cluster has our controller on. */
export type Whose =
  /** It asks for none, and has none of ours. */
  | { readonly kind: "nobody"; readonly because: string }
  | { readonly kind: "ours"; readonly because: string }
  /** It asks for one that we would make. */
  | { readonly kind: "free"; readonly because: string }
  | { readonly kind: "other"; readonly because: string };

/** `isElsewhere` is what the cloud's model says of its annotations and class. */
export function whoseOf(
  service: Service,
  {
    isOn,
    isElsewhere,
    ...classes
  }: { readonly isOn: boolean; readonly isElsewhere: boolean } & ClassSettings,
): Whose {
  const mark = markOf(service);
  if (mark !== undefined) {
    const said = SAID[mark.state](mark.at);
    return { kind: "ours", because: `ours by our annotation: ${said}${isOn ? "" : NOT_ON}` };
  }
  const { type = "ClusterIP", loadBalancerClass } = service.spec;
  if (type !== "LoadBalancer")
    return { kind: "nobody", because: `it is of type ${type} and asks for no load balancer` };
  const which = loadBalancerClass === undefined ? "no class" : `our class ${loadBalancerClass}`;
  if (!isOfOurClass(service, classes))
    return {
      kind: "other",
      because:
        loadBalancerClass === undefined
          ? `another controller's: it is of no class, and the cluster's is ${classes.loadBalancerClass}`
          : `another controller's, by spec.loadBalancerClass ${loadBalancerClass}`,
    };
  if (isElsewhere)
    return { kind: "other", because: "another controller's, by its annotation aws-load-balancer-type" };
  if (!isOn) return { kind: "other", because: `the stock controller's as long as it runs${NOT_ON}` };
  if (hasFinalizer(service))
    return {
      kind: "free",
      because:
        "another controller has served it, by its finalizer; ours takes over what carries this Service's name and tags",
    };
  return { kind: "free", because: `ours to make: it is of ${which}, and nobody has served it` };
}

const NOT_ON = "; service-lb-controller is not among the controllers of this cluster's entry";

const SAID: Readonly<Record<Mark["state"], (at: string) => string>> = {
  applied: (at) => `as it was asked for, last at ${at}`,
  applying: (at) => `under way since ${at}`,
  leaving: (at) => `it goes, and what was made of it last is looked for since ${at}`,
  undoing: (at) => `the cloud refused it at ${at}, and what was made of it goes`,
  refused: (at) =>
    `the cloud refused it, nothing of it is left, and it is not tried again within an hour of ${at}`,
};
