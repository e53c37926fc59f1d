import { type ClassSettings, hasFinalizer, isOfOurClass } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation, type StateAnnotation } from "#core/service/state-annotation.ts";

/**
 * The owner of a Service's load balancer, from the Service itself and from whether the cluster enables our
 * controller.
 */
export type ServiceOwner =
  /** It requests no load balancer and has none of ours. */
  // words-ignore: a value of explain's JSON output
  | { readonly kind: "nobody"; readonly because: string }
  | { readonly kind: "ours"; readonly because: string }
  /** It requests a load balancer that we would create. */
  | { readonly kind: "free"; readonly because: string }
  | { readonly kind: "other"; readonly because: string };

/** Finds the owner. `isElsewhere` is what the cloud's model says of its annotations and class. */
export function findServiceOwner(
  service: Service,
  {
    isOn,
    isElsewhere,
    ...classes
  }: { readonly isOn: boolean; readonly isElsewhere: boolean } & ClassSettings,
): ServiceOwner {
  const mark = parseStateAnnotation(service);
  if (mark !== undefined) {
    const said = SAID[mark.state](mark.at);
    return { kind: "ours", because: `ours by our annotation: ${said}${isOn ? "" : NOT_ON}` };
  }
  const { type = "ClusterIP", loadBalancerClass } = service.spec;
  if (type !== "LoadBalancer")
    // words-ignore: a value of explain's JSON output
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
        "another controller has served it, by its finalizer; ours adopts what has this Service's name and tags",
    };
  return { kind: "free", because: `ours to make: it is of ${which}, and no controller has served it` };
}

const NOT_ON = "; service-lb-controller is not among the controllers of this cluster's entry";

const SAID: Readonly<Record<StateAnnotation["state"], (at: string) => string>> = {
  applied: (at) => `as it was asked for, last at ${at}`,
  applying: (at) => `under way since ${at}`,
  leaving: (at) => `it goes, and what was made of it last is looked for since ${at}`,
  undoing: (at) => `the cloud refused it at ${at}, and what was made of it goes`,
  refused: (at) =>
    `the cloud refused it, nothing of it is left, and it is not tried again within an hour of ${at}`,
};
