import type { DryDecision } from "#cli/explain/decide-dry.ts";
import { hasHeldWrite } from "#cli/explain/explanation.ts";
import { findServiceRemedy } from "#cli/explain/service/remedies.ts";
import { findServiceOwner, type ServiceOwner } from "#cli/explain/service/service-owner.ts";
import { type StopStatus, stopAdvice } from "#cli/stop-status.ts";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { Observation } from "#core/capability.ts";
import type { Reason } from "#core/reason.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Everything known about a Service: its owner, its cloud resources, what would be done next, and what to do.
 */
export interface ServiceExplanation {
  readonly cluster: string;
  /** Undefined if no stop switch is named. */
  readonly stops?: StopStatus | undefined;
  readonly service: Service;
  readonly whose: ServiceOwner;
  /** Undefined if the cloud was not asked. */
  readonly observed: Observation | undefined;
  /** The observation described in words. */
  readonly described: DescribedLoadBalancer | undefined;
  readonly report: DryDecision["report"];
  readonly advice: readonly string[];
}

/** What was read, asked and decided. */
export interface ServiceExplanationInput
  extends Pick<ServiceExplanation, "cluster" | "stops" | "service" | "observed" | "described" | "report"> {
  /** Whether the cluster's entry enables the service-lb-controller. */
  readonly isOn: boolean;
  /**
   * The class whose Services belong to the cluster. Without it, Services without a class and those with our
   * own class belong to it.
   */
  readonly loadBalancerClass?: string | undefined;
}

/** Builds the explanation from what was read, asked and decided. */
export function buildServiceExplanation({
  isOn,
  loadBalancerClass,
  ...findings
}: ServiceExplanationInput): ServiceExplanation {
  const { service, report } = findings;
  const isElsewhere = getReason(report).code === "Elsewhere";
  const whose = findServiceOwner(service, { isOn, isElsewhere, loadBalancerClass });
  return { ...findings, whose, advice: buildAdvice(whose, isOn, findings) };
}

/** Returns the reason of a decision, whether or not a dry run held it back. */
export function getReason({ because, decision }: DryDecision["report"]): Reason {
  return decision?.because ?? because;
}

/** Returns the warnings of a decision that still writes. */
export function getWarnings({ decision, warnings = [] }: DryDecision["report"]): readonly Reason[] {
  return decision?.kind === "change" ? decision.warnings : warnings;
}

function buildAdvice(
  whose: ServiceOwner,
  isOn: boolean,
  {
    cluster,
    stops,
    report,
    described,
  }: Pick<ServiceExplanationInput, "cluster" | "stops" | "report" | "described">,
): readonly string[] {
  const codes = [getReason(report), ...getWarnings(report)].map(({ code }) => code);
  const remedies = codes.flatMap((code) => {
    const remedy = findServiceRemedy(code);
    return remedy === undefined ? [] : [`${code}: ${remedy}`];
  });
  const held = isOn ? stopAdvice(stops, cluster, [report]) : undefined;
  return [
    ...new Set([
      ...(held === undefined ? [] : [held]),
      ...buildOwnAdvice(whose, { isOn, isHeld: held !== undefined }, report),
      ...remedies,
      ...(described?.belongsTo === "other" ? [FOREIGN] : []),
    ]),
  ];
}

function buildOwnAdvice(
  whose: ServiceOwner,
  { isOn, isHeld }: { readonly isOn: boolean; readonly isHeld: boolean },
  report: DryDecision["report"],
): readonly string[] {
  if (isHeld) return [];
  // words-ignore: a value of explain's JSON output
  if (whose.kind === "nobody" || whose.kind === "other") return isOn ? [] : [TURN_ON];
  if (hasHeldWrite(report)) return isOn ? [BY_ITSELF] : [TURN_ON];
  return report.outcome === "retry" ? [] : [NOTHING_LEFT];
}

const TURN_ON = "to have it served here: docs/how-to/switch-the-stock-controller-off.md";
const BY_ITSELF =
  "the relay sends it to the function; if this does not change, serverless-ccm doctor shows what stops it";
const NOTHING_LEFT = "nothing on this Service is serverless-ccm's to do";
const FOREIGN = "what is another's by its tags is neither changed nor deleted";
