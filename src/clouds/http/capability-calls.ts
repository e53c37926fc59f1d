import type { ActionCall, ActionResult, ObservationsResult } from "#clouds/cloud.ts";
import { HELD_BACK } from "#clouds/http/budget.ts";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import { createAbortedAnswer } from "#clouds/http/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** What all calls of a capability share. */
export interface CapabilityCallsParts {
  /** The cloud's name in messages. */
  readonly title: string;
  /** Opens a call's share of the account's quotas and returns a function that closes it. */
  readonly enter: (call: ActionCall) => () => void;
  /** Whether questions must wait because the quota is low; without it they never wait. */
  readonly isHeldBack?: () => boolean;
}

/** The result of an action without its usage. */
export type ActionOutcome = Omit<ActionResult, "usage">;

/**
 * Runs questions and actions of an HTTP cloud's capability: within its share, counted, and without ever
 * rejecting.
 */
export interface CapabilityCalls {
  /** Calls `answer` once, with all questions in their order. */
  observe(
    questions: readonly unknown[],
    call: ActionCall,
    answer: (callContext: CallContext) => Promise<readonly Observation[]>,
  ): Promise<ObservationsResult>;
  act(
    action: CloudAction,
    call: ActionCall,
    perform: (callContext: CallContext) => Promise<ActionOutcome>,
  ): Promise<ActionResult>;
}

export function createCapabilityCalls({
  title,
  enter,
  isHeldBack = () => false,
}: CapabilityCallsParts): CapabilityCalls {
  const aborted = createAbortedAnswer(title);
  return {
    async observe(questions, call, answer) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      const all = (each: Observation) => ({ answers: questions.map(() => each), usage: meter.usage() });
      if (questions.length === 0 || signal.aborted) return all(aborted);
      if (isHeldBack()) return all(HELD_BACK);
      const leave = enter(call);
      try {
        const answers = await answer({ signal, meter });
        return { answers, usage: meter.usage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        return all({ kind: "error", code: "Unavailable", message: `${title}: ${getErrorMessage(error)}` });
      } finally {
        leave();
      }
    },
    async act({ action }, call, perform) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      if (signal.aborted) return { answer: aborted, usage: meter.usage() };
      const leave = enter(call);
      try {
        return { ...(await perform({ signal, meter })), usage: meter.usage() };
      } catch (error) {
        // The result is unknown; the next observation shows it.
        const message = `${action}: ${getErrorMessage(error)}`;
        return { answer: { kind: "error", code: "Unavailable", message }, usage: meter.usage() };
      } finally {
        leave();
      }
    },
  };
}

/** Answers the questions one after another. */
export async function answerInOrder(
  questions: readonly unknown[],
  answer: (question: unknown) => Promise<Observation>,
): Promise<readonly Observation[]> {
  const answers: Observation[] = [];
  for (const question of questions) answers.push(await answer(question));
  return answers;
}
