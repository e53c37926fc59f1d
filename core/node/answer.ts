import type { Decision } from "#core/decision.ts";
import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { ageSeconds, patience, retry, retryWithWarning } from "#core/node/outcome.ts";

/** Faults of the node or its configuration that only somebody's action mends, and the reason of the Warning that says so. */
const WARNINGS: Readonly<Partial<Record<InstanceErrorCode, string>>> = {
  Foreign: "InstanceForeign",
  Ambiguous: "InstanceAmbiguous",
  InvalidProviderID: "InvalidProviderID",
  Denied: "CloudAccessDenied",
};

/** What to do about a node whose instance the cloud did not give: always to wait, however it went wrong. */
export function decideWithoutInstance(
  node: Node,
  answer: Exclude<InstanceAnswer, { kind: "found" }> | undefined,
  now: Date,
): Decision {
  if (answer === undefined) return retry(node, { code: "NoAnswer", message: "the cloud was not asked" }, 1);
  const age = ageSeconds(node, now);
  if (answer.kind === "not-found") {
    // A machine registers before every part of the cloud knows it: seconds at first.
    return retry(node, { code: "InstanceNotFound", message: answer.message }, patience(age, 0.5, 60));
  }
  const { code, message } = answer;
  const reason = WARNINGS[code];
  if (reason === undefined) return retry(node, { code, message }, patience(age, 1, 30));
  return retryWithWarning(node, reason, { code, message }, patience(age, 30, 600));
}
