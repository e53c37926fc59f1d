import type { ActionCall, ActionResult, CloudCall, ObservationsResult } from "#clouds/cloud.ts";
import type { Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { ActionAnswer, CapabilityErrorCode, Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";

/** Answers one question after the other within the call's share; never rejects. What can wait does so while little is left of the quota. */
export async function observeEach(
  questions: readonly unknown[],
  { signal, share, onRequest }: CloudCall,
  budget: Budget,
  answer: (question: unknown, turn: Turn) => Promise<Observation>,
): Promise<ObservationsResult> {
  const meter = createMeter(onRequest);
  const answers: Observation[] = [];
  const leave = budget.enter(share);
  try {
    for (const question of questions) {
      const held = signal.aborted ? ABORTED : budget.isLow() ? HELD_BACK : undefined;
      answers.push(held ?? (await answer(question, { signal, meter })));
    }
  } catch (error) {
    // Nothing is known to come here; but the contract is that nobody's batch rejects.
    const failure: Observation = { kind: "error", code: "Unavailable", message: messageOf(error) };
    while (answers.length < questions.length) answers.push(failure);
  } finally {
    leave();
  }
  return { answers, usage: meter.usage() };
}

/** Does one action within the call's share; never rejects. */
export async function actOnce(
  { signal, share, onRequest }: ActionCall,
  budget: Budget,
  perform: (turn: Turn) => Promise<ActionAnswer>,
): Promise<ActionResult> {
  const meter = createMeter(onRequest);
  const leave = budget.enter(share);
  try {
    return { answer: await perform({ signal, meter }), usage: meter.usage() };
  } catch (error) {
    return { answer: invalid(messageOf(error)), usage: meter.usage() };
  } finally {
    leave();
  }
}

/** What came of a request, as the answer to an action. */
export function actionAnswerOf(outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok") return { kind: "done", result: outcome.value ?? null };
  const { status, errorId, message } = outcome.fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // It is gone, or there is one by now, or something else is being done with it.
  if (status === 404 || status === 409) return { kind: "conflict", message, ...reason };
  if (status === 400 || status === 422) return { kind: "error", code: "Invalid", message, ...reason };
  return { ...failureOf(outcome.fault), ...reason };
}

/** Why something could not be done or said. */
export function failureOf({ code, message }: Fault): {
  readonly kind: "error";
  readonly code: CapabilityErrorCode;
  readonly message: string;
} {
  return { kind: "error", code: CODES.find((each) => each === code) ?? "Unavailable", message };
}

/** What is asked for is wrong. */
export function invalid(message: string): Extract<Observation, { readonly kind: "error" }> {
  return { kind: "error", code: "Invalid", message };
}

const CODES: readonly CapabilityErrorCode[] = ["Throttled", "Denied", "Unavailable", "Aborted"];

const ABORTED: Observation = {
  kind: "error",
  code: "Aborted",
  message: "aborted before DigitalOcean was asked",
};

const HELD_BACK: Observation = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
};
