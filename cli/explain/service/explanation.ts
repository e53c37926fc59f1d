import type { DryDecision } from "#cli/explain/decide-dry.ts";
import { wouldWrite } from "#cli/explain/explanation.ts";
import { serviceRemedyOf } from "#cli/explain/service/remedies.ts";
import { type Whose, whoseOf } from "#cli/explain/service/whose.ts";
import { type StopStatus, stopAdvice } from "#cli/stop-status.ts";
import type { DescribedLoadBalancer } from "#clouds/described.ts";
import type { Observation } from "#core/capability.ts";
import type { Because } from "#core/decision.ts";
import type { Service } from "#core/service/service.ts";

/** All that is known of a Service: whose it is, what the cloud has of it, what would be done next, and what to do. */
export interface ServiceExplanation {
  readonly cluster: string;
  /** Undefined where no stop switch is named. */
  readonly stops?: StopStatus | undefined;
  readonly service: Service;
  readonly whose: Whose;
  /** Undefined where the cloud was not asked. */
  readonly observed: Observation | undefined;
  /** The same in words. */
  readonly described: DescribedLoadBalancer | undefined;
  readonly report: DryDecision["report"];
  readonly advice: readonly string[];
}

/** What was read, asked and decided. */
export interface ServiceFindings
  extends Pick<ServiceExplanation, "cluster" | "stops" | "service" | "observed" | "described" | "report"> {
  /** Whether the cluster's entry has the service-lb-controller on. */
  readonly isOn: boolean;
  /** The one class whose Services are the cluster's; without it those without one, and of our own. */
  readonly loadBalancerClass?: string | undefined;
}

/** Puts together what was read, asked and decided. */
export function serviceExplanationOf({
  isOn,
  loadBalancerClass,
  ...findings
}: ServiceFindings): ServiceExplanation {
  const { service, report } = findings;
  const isElsewhere = becauseOf(report).code === "Elsewhere";
  const whose = whoseOf(service, { isOn, isElsewhere, loadBalancerClass });
  return { ...findings, whose, advice: adviceFor(whose, isOn, findings) };
}

/** Why it was decided so, whether or not a dry run held it back. */
export function becauseOf({ because, decision }: DryDecision["report"]): Because {
  return decision?.because ?? because;
}

/** What is said beside a decision that writes all the same. */
export function warningsOf({ decision, warnings = [] }: DryDecision["report"]): readonly Because[] {
  return decision?.kind === "change" ? decision.warnings : warnings;
}

function adviceFor(
  whose: Whose,
  isOn: boolean,
  { cluster, stops, report, described }: Pick<ServiceFindings, "cluster" | "stops" | "report" | "described">,
): readonly string[] {
  const codes = [becauseOf(report), ...warningsOf(report)].map(({ code }) => code);
  const remedies = codes.flatMap((code) => {
    const remedy = serviceRemedyOf(code);
    return remedy === undefined ? [] : [`${code}: ${remedy}`];
  });
  const held = isOn ? stopAdvice(stops, cluster, [report]) : undefined;
  return [
    ...new Set([
      ...(held === undefined ? [] : [held]),
      ...onUs(whose, { isOn, isHeld: held !== undefined }, report),
      ...remedies,
      ...(described?.belongsTo === "other" ? [FOREIGN] : []),
    ]),
  ];
}

function onUs(
  whose: Whose,
  { isOn, isHeld }: { readonly isOn: boolean; readonly isHeld: boolean },
  report: DryDecision["report"],
): readonly string[] {
  if (isHeld) return [];
  if (whose.kind === "nobody" || whose.kind === "other") return isOn ? [] : [TURN_ON];
  if (wouldWrite(report)) return isOn ? [BY_ITSELF] : [TURN_ON];
  return report.outcome === "retry" ? [] : [NOTHING_LEFT];
}

const TURN_ON = "to have it served here: docs/how-to/switch-the-stock-controller-off.md";
const BY_ITSELF =
  "the relay hands it to the function by itself; if this stays so, serverless-ccm doctor says what stops it";
const NOTHING_LEFT = "nothing on this Service is serverless-ccm's to do";
const FOREIGN = "what is another's by its tags is neither changed nor deleted";
